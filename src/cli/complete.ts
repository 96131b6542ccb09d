import { commands, groups } from '../commands/registry/registry.ts';
import { type Command, type CommandOption } from '../commands/registry/command.ts';
import type { Candidate } from '../commands/completion/suggestions.ts';
import { configKeys, type Flag, flags, optionFlag, type Suggestions } from '../config/flags.ts';

/** What can stand at the cursor: `words`, and what the caller has to look up. */
export interface Wanted {
  readonly words: readonly Candidate[];
  readonly lookUp: Exclude<Suggestions, readonly string[]> | null;
  /** What is typed of it, without `--flag=`. */
  readonly typed: string;
}

/** Returns what can follow on a command line. `line` has the words after `spool`; the last one is typed at present. */
export const wantedAt = (line: readonly string[]): Wanted => {
  const typed = line.at(-1) ?? '';
  const before = line.slice(0, -1);
  const [first, second] = before;
  if (first === undefined) return plain(typed, typed.startsWith('-') ? globalOptions : names(typed));
  if (first === 'help') return plain(typed, second === undefined ? names(typed) : subcommands(second));
  const own = commands.find(({ name, alias }) => name === first || alias === first);
  if (!Object.hasOwn(groups, first)) return own ? inCommand(own, before.slice(1), typed) : plain(typed, []);
  if (second === undefined && !typed.startsWith('-')) return plain(typed, subcommands(first));
  const command = commands.find(({ name }) => name === `${first} ${second}`);
  if (command) return inCommand(command, before.slice(2), typed);
  return own ? inCommand(own, before.slice(1), typed) : plain(typed, [helpOption]);
};

const helpOption: Candidate = { value: '--help', help: 'Show help' };
const globalOptions: readonly Candidate[] = [helpOption, { value: '--version', help: 'Print the version' }];

const plain = (typed: string, words: readonly Candidate[]): Wanted => ({ words, lookUp: null, typed });

const names = (typed: string): Candidate[] => [
  ...commands
    .filter(({ name }) => !name.includes(' ') && !Object.hasOwn(groups, name))
    .flatMap(({ name, alias, summary }) => [
      { value: name, help: summary },
      ...(alias === undefined ? [] : aliasesAt(typed, [alias], summary)),
    ]),
  ...Object.entries(groups).map(([value, help]) => ({ value, help })),
  { value: 'help', help: 'Show help for a command' },
];

/** Other names are offered only to someone who types them, so that a list has each thing once. */
const aliasesAt = (typed: string, aliases: readonly string[], help: string): Candidate[] =>
  /[^-]/.test(typed) ? aliases.filter((alias) => alias.startsWith(typed)).map((value) => ({ value, help })) : [];

const subcommands = (group: string): Candidate[] =>
  commands
    .filter(({ name }) => name.startsWith(`${group} `))
    .map(({ name, summary }) => ({ value: name.slice(group.length + 1), help: summary }));

const inCommand = (command: Command, before: readonly string[], typed: string): Wanted => {
  const { args, given, open, isOver } = read(command, before);
  if (open !== null) return suggested(open.suggest, typed);
  const inline = isOver ? null : /^(--[^=]+)=(.*)$/s.exec(typed);
  if (inline) return suggested(find(command, inline[1]!)?.suggest, inline[2]!);
  if (!isOver && typed.startsWith('-')) {
    const options = command.options.filter((option) => option.repeatable || !given.has(option.name));
    return plain(typed, [...options.flatMap((option) => optionNames(option, typed)), helpOption]);
  }
  const positional = command.positionals[args.length] ?? repeatedOf(command);
  return suggested(positional?.name === 'value' ? valuesOf(args[0] ?? '') : positional?.suggest, typed);
};

const optionNames = (option: CommandOption, typed: string): Candidate[] => [
  { value: optionFlag(option), help: option.help },
  ...aliasesAt(typed, aliasFlags(option), option.help),
];

/** Reads the words of a command that are complete. `open` is an option that waits for its value. */
const read = (command: Command, words: readonly string[]) => {
  const args: string[] = [];
  const given = new Set<string>();
  let open: CommandOption | null = null;
  let isOver = false;
  for (const word of words) {
    const option: CommandOption | undefined =
      isOver || open !== null ? undefined : find(command, word.replace(/=.*/s, ''));
    if (open !== null) open = null;
    else if (!isOver && word === '--') isOver = true;
    else if (option) {
      given.add(option.name);
      open = option.placeholder !== undefined && !word.includes('=') ? option : null;
    } else if (isOver || !word.startsWith('-')) args.push(word);
  }
  return { args, given, open, isOver };
};

const find = ({ options }: Command, word: string): CommandOption | undefined =>
  options.find((option) => [optionFlag(option), ...aliasFlags(option)].includes(word));

const aliasFlags = ({ aliases = [] }: CommandOption): string[] => aliases.map((alias) => `--${alias}`);

/** The values of a key in the config file. */
const valuesOf = (key: string): Suggestions | undefined => {
  const name = configKeys.find((known) => known === key);
  const flag: Flag | undefined = name && flags[name];
  return flag?.kind === 'boolean' ? ['true', 'false'] : flag?.suggest;
};

const suggested = (suggest: Suggestions | undefined, typed: string): Wanted => {
  if (suggest === undefined) return plain(typed, []);
  return typeof suggest === 'string'
    ? { words: [], lookUp: suggest, typed }
    : plain(
        typed,
        suggest.map((value) => ({ value })),
      );
};

/** The positional that may be given several times, if there is one. */
const repeatedOf = ({ positionals }: Command) => (positionals.at(-1)?.repeatable ? positionals.at(-1) : undefined);
