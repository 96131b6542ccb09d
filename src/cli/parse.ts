import { parseArgs } from 'node:util';
import { closest } from '../text/closest.ts';
import { guesses } from '../commands/registry/guesses.ts';
import { commands, groups } from '../commands/registry/registry.ts';
import { type Command, type CommandOption, type Invocation, usageOf } from '../commands/registry/command.ts';
import { optionFlag } from '../config/flags.ts';
import { type UserError, userError } from '../errors.ts';
import type { HelpRequest } from './help.ts';

export type Parsed =
  | ({ readonly kind: 'help' } & HelpRequest)
  | { readonly kind: 'call'; readonly command: Command; readonly given: Pick<Invocation, 'args' | 'rawFlags'> };

/** Parses a command line. Throws a user error if it is invalid. */
export const parse = (argv: readonly string[]): Parsed => {
  const [first, second] = argv;
  const isFull = argv.includes('--all');
  if (first === undefined || isHelp(first)) return { kind: 'help', about: null, isFull };
  if (first === 'help')
    return { kind: 'help', about: helpTopic(argv.slice(1).filter((word) => !word.startsWith('-'))), isFull };
  if (first.startsWith('-')) throw usageError(unknownOption(first, ['version', 'help']));
  if (!Object.hasOwn(groups, first)) return parseCall(findCommand(first), argv.slice(1));
  if (second !== undefined && isHelp(second)) return { kind: 'help', about: first, isFull };
  const own = commands.find(({ name }) => name === first);
  if (own && (second === undefined || second.startsWith('-'))) return parseCall(own, argv.slice(1));
  if (second === undefined) return { kind: 'help', about: first, isFull };
  return parseCall(findInGroup(first, second), argv.slice(2));
};

const isHelp = (word: string) => word === '-h' || word === '--help';

const helpTopic = ([first, second]: readonly string[]): Command | string | null => {
  if (first === undefined || first === 'help') return null;
  if (!Object.hasOwn(groups, first)) return findCommand(first);
  return second === undefined ? first : findInGroup(first, second);
};

const findCommand = (word: string): Command => {
  const command = commands.find(({ name, alias }) => name === word || alias === word);
  if (command) return command;
  const names = [...commands.flatMap(({ name, alias }) => [name, alias ?? name]), ...Object.keys(groups)];
  const meant = Object.hasOwn(guesses, word) ? guesses[word]! : closest(word, names);
  throw usageError(`Unknown command '${word}'${hint(meant && `"spool ${meant}"`)}`);
};

const findInGroup = (group: string, word: string): Command => {
  const command = commands.find(({ name }) => name === `${group} ${word}`);
  if (command) return command;
  throw usageError(`Unknown command '${word}'${hint(closest(word, namesIn(group)))}`, group);
};

const namesIn = (group: string): string[] =>
  commands.flatMap(({ name }) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []));

/** Begins like short options, but has a blank, as in `- fix the path`. */
const isSentence = (word: string): boolean => /^-(?!-)/.test(word) && /\s/.test(word);

const parseCall = (command: Command, words: readonly string[]): Parsed => {
  const known = new Map(command.options.flatMap((option) => spellingsOf(option).map((name) => [name, option])));
  const tokens = tokenize(words, known);
  const sentence = tokens.find(({ kind, index }) => kind === 'option' && isSentence(words[index] ?? ''));
  if (sentence)
    throw usageError(
      `Unknown option '${words[sentence.index]}'. To pass it as an argument, put -- before it`,
      command.name,
    );
  const rawFlags: Record<string, RawValue> = {};
  const options = tokens.filter((token) => token.kind === 'option');
  if (options.some(({ name }) => name === 'help'))
    return { kind: 'help', about: command, isFull: options.some(({ name }) => name === 'all') };
  for (const token of options) {
    const option = known.get(token.name);
    const inline = token.inlineValue ? `=${token.value}` : '';
    if (!option || (inline !== '' && !takesValue(option)))
      throw usageError(unknownOption(`${token.rawName}${inline}`, [...known.keys(), 'help']), command.name);
    if (takesValue(option) && token.value === undefined)
      throw usageError(`Option '${usageOf(option)}' needs a value`, command.name);
    rawFlags[option.name] = valueOf(option, token.value, rawFlags[option.name]);
  }
  const args = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  checkCount(command, args);
  return { kind: 'call', command, given: { args, rawFlags } };
};

const tokenize = (words: readonly string[], known: ReadonlyMap<string, CommandOption>) => {
  // parseArgs gets only the options that were typed: checking all of them takes longer than everything else.
  const typedNames = new Set(words.map((word) => /^--([^=]+)/.exec(word)?.[1]));
  const typed = [...known].filter(([name]) => typedNames.has(name));
  const options = Object.fromEntries(
    typed.map(([name, option]) => [name, { type: takesValue(option) ? ('string' as const) : ('boolean' as const) }]),
  );
  return parseArgs({
    args: [...words],
    options: { ...options, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
    strict: false,
    tokens: true,
  }).tokens;
};

type RawValue = Invocation['rawFlags'][string];

/** The last value wins unless the option is repeatable. */
const valueOf = (option: CommandOption, value: string | undefined, before: RawValue | undefined): RawValue => {
  if (value === undefined) return !option.negated;
  return option.repeatable ? [...((before as readonly string[] | undefined) ?? []), value] : value;
};

const checkCount = ({ name, positionals }: Command, args: readonly string[]): void => {
  const missing = positionals.find(({ optional }, index) => !optional && args[index] === undefined);
  if (missing) throw usageError(`Missing required argument '${missing.name}'`, name);
  if (args.length <= positionals.length || positionals.at(-1)?.repeatable) return;
  const expected = `${positionals.length} ${positionals.length === 1 ? 'argument' : 'arguments'}`;
  const text = `Too many arguments for '${name}'. Expected ${expected} but got ${args.length}`;
  throw usageError(`${text}; quote arguments that contain spaces`, name);
};

/** The names of an option without the dashes. */
const spellingsOf = (option: CommandOption): string[] => [
  optionFlag(option).slice(2),
  ...(option.aliases ?? []),
  ...(option.short === undefined ? [] : [option.short]),
];

const takesValue = ({ placeholder }: CommandOption) => placeholder !== undefined;

const unknownOption = (word: string, names: readonly string[]): string => {
  const meant = word.startsWith('--') ? closest(word.slice(2).replace(/=.*/s, ''), names) : null;
  return `Unknown option '${word}'${hint(meant && `--${meant}`)}`;
};

const hint = (meant: string | null) => (meant === null ? '' : ` (did you mean ${meant}?)`);

const usageError = (text: string, command = ''): UserError =>
  userError('usage', `${text}. See "spool ${command === '' ? '' : `${command} `}--help".`);
