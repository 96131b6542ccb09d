import { parseArgs } from 'node:util';
import { closest } from '../text/closest.ts';
import { commands, groups } from '../commands/table.ts';
import type { Invocation, Command, CommandOption } from '../commands/command.ts';
import { type UserError, userError } from '../errors.ts';

export type Parsed =
  /** About a command, about those that begin with a word, or about all of them. */
  | { readonly kind: 'help'; readonly about: Command | string | null }
  | {
      readonly kind: 'call';
      readonly command: Command;
      readonly given: Pick<Invocation, 'argument' | 'second' | 'rawFlags'>;
    };

/** What the words of a command line mean. Pure; what means nothing is a user error. */
export const parse = (argv: readonly string[]): Parsed => {
  const [first, second] = argv;
  if (first === undefined || isHelp(first)) return { kind: 'help', about: null };
  if (first === 'help') return { kind: 'help', about: aboutOf(argv.slice(1).filter((word) => !isHelp(word))) };
  if (first.startsWith('-')) throw wrong(unknownOption(first, ['version', 'help']));
  if (!Object.hasOwn(groups, first)) return parseCall(findCommand(first), argv.slice(1));
  if (second === undefined) throw wrong(`Which one: ${namesIn(first).join(', ')}?`, first, ' ');
  if (isHelp(second)) return { kind: 'help', about: first };
  return parseCall(findInGroup(first, second), argv.slice(2));
};

const isHelp = (word: string) => word === '-h' || word === '--help';

const aboutOf = ([first, second]: readonly string[]): Command | string | null => {
  if (first === undefined || first === 'help') return null;
  if (!Object.hasOwn(groups, first)) return findCommand(first);
  return second === undefined ? first : findInGroup(first, second);
};

const findCommand = (word: string): Command => {
  const command = commands.find(({ name, alias }) => name === word || alias === word);
  if (command) return command;
  const names = [...commands.flatMap(({ name, alias }) => [name, alias ?? name]), ...Object.keys(groups)];
  throw wrong(`Unknown command '${word}'${hint(closest(word, names))}`);
};

const findInGroup = (group: string, word: string): Command => {
  const command = commands.find(({ name }) => name === `${group} ${word}`);
  if (command) return command;
  throw wrong(`Unknown command '${word}'${hint(closest(word, namesIn(group)))}`, group);
};

const namesIn = (group: string): string[] =>
  commands.flatMap(({ name }) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []));

const parseCall = (command: Command, words: readonly string[]): Parsed => {
  const known = new Map(command.options.flatMap((option) => spellingsOf(option).map((name) => [name, option])));
  const tokens = cutWords(words, known);
  const rawFlags: Record<string, string | boolean | readonly string[]> = {};
  const options = tokens.filter((token) => token.kind === 'option');
  if (options.some(({ name }) => name === 'help')) return { kind: 'help', about: command };
  for (const token of options) {
    const option = known.get(token.name);
    const inline = token.inlineValue ? `=${token.value}` : '';
    if (!option || (inline !== '' && !takesValue(option)))
      throw wrong(unknownOption(`${token.rawName}${inline}`, [...known.keys(), 'help']), command.name);
    if (takesValue(option) && token.value === undefined)
      throw wrong(`Option '${option.flags}' argument missing`, command.name);
    rawFlags[option.name] = valueOf(option, token.value, rawFlags[option.name]);
  }
  const [argument, second, ...more] = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  checkCount(
    command,
    [argument, second, ...more].filter((each) => each !== undefined),
  );
  return { kind: 'call', command, given: { argument, second, rawFlags } };
};

const cutWords = (words: readonly string[], known: ReadonlyMap<string, CommandOption>) => {
  // Only those that may be meant: looking into all of them takes longer than the rest.
  const typedNames = new Set(words.map((word) => /^--([^=]+)/.exec(word)?.[1]));
  const meant = [...known].filter(([name]) => typedNames.has(name));
  const options = Object.fromEntries(
    meant.map(([name, option]) => [name, { type: takesValue(option) ? ('string' as const) : ('boolean' as const) }]),
  );
  return parseArgs({
    args: [...words],
    options: { ...options, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
    strict: false,
    tokens: true,
  }).tokens;
};

type Typed = Invocation['rawFlags'][string];

/** The last one counts, unless it may be given more than once. */
const valueOf = (option: CommandOption, value: string | undefined, before: Typed | undefined): Typed => {
  if (value === undefined) return !option.flags.startsWith('--no-');
  return option.repeats ? [...((before as readonly string[] | undefined) ?? []), value] : value;
};

const checkCount = (command: Command, args: readonly string[]): void => {
  const wanted = [command.argument, command.second].filter((argument) => argument !== undefined);
  const missing = wanted.find((argument, index) => !argument.optional && args[index] === undefined);
  if (missing) throw wrong(`Missing required argument '${missing.name}'`, command.name);
  if (args.length <= wanted.length) return;
  const expected = `${wanted.length} ${wanted.length === 1 ? 'argument' : 'arguments'}`;
  const text = `Too many arguments for '${command.name}'. Expected ${expected} but got ${args.length}`;
  throw wrong(`${text}; put quotes around a text with spaces`, command.name);
};

/** Without its dashes, under its own name and the others it has. */
const spellingsOf = ({ flags, aliases = [] }: CommandOption): string[] => [
  /^--([\w-]+)/.exec(flags)?.[1] ?? '',
  ...aliases,
];

const takesValue = ({ flags }: CommandOption) => flags.includes('<');

const unknownOption = (word: string, names: readonly string[]): string => {
  const meant = word.startsWith('--') ? closest(word.slice(2).replace(/=.*/s, ''), names) : null;
  return `Unknown option '${word}'${hint(meant && `--${meant}`)}`;
};

const hint = (meant: string | null) => (meant === null ? '' : ` (did you mean ${meant}?)`);

/** `See "spool ralph --help".` goes with it. */
const wrong = (text: string, command = '', end = '. '): UserError =>
  userError('usage', `${text}${end}See "spool ${command === '' ? '' : `${command} `}--help".`);
