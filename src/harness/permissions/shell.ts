import { forEachChild, parse, type Command, type Redirection, type SyntaxNode, type Word } from 'unbash';
import { hole } from '../../text/wildcard.ts';

/** A simple command in a shell text. */
export interface RunCommand {
  /** Its words without quotes. An expansion is a `hole`. */
  readonly words: readonly string[];
  /** It sets variables, for itself or for what follows. */
  readonly assigns: boolean;
  /** It writes to a file, other than /dev/null. */
  readonly writes: boolean;
}

export interface ShellText {
  /** All commands, including those in substitutions, loops and functions. */
  readonly commands: readonly RunCommand[];
  /** Why a command may do something else than it seems to; null if it cannot. */
  readonly unclear: string | null;
  /** Why a command may run that is not in the list; null if none can. */
  readonly hidden: string | null;
}

/** Longer texts are not parsed. */
const maxText = 100_000;

/** Parses a shell text. What it cannot parse completely is `unclear`. */
export const parseShell = (text: string): ShellText => {
  if (text.length > maxText) return unknown('it is too long to check');
  if (text.includes(hole)) return unknown('it contains a NUL character');
  const commands: RunCommand[] = [];
  let hidden: string | null = null;
  let changed: string | null = null;
  const visit = (node: SyntaxNode): void => {
    hidden ??= problemOf(node);
    // A function can have the name of a program.
    if (node.type === 'Function') changed ??= 'it defines a function';
    if (node.type === 'Redirected' && node.redirects.some(isWrite)) changed ??= 'it writes to a file';
    if (node.type === 'Command') commands.push(commandOf(node));
    forEachChild(node, visit);
  };
  visit(parse(text));
  return { commands, unclear: hidden ?? changed, hidden };
};

/** The result for a text whose commands are not known. */
export const unknown = (why: string): ShellText => ({ commands: [], unclear: why, hidden: why });

/** Writes a command as a text: words that need quotes have single ones. */
export const textOf = ({ words }: Pick<RunCommand, 'words'>): string =>
  words.map((word) => (/^[^\s'"\\]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)).join(' ');

const problemOf = (node: SyntaxNode): string | null => {
  switch (node.type) {
    case 'Script':
      return node.errors?.length ? 'it cannot be parsed' : null;
    // Runs code in zsh: *(e:'rm x':)
    case 'ExtendedGlob':
      return 'it contains an extended pattern';
    case 'CommandExpansion':
    case 'ProcessSubstitution':
      return node.script === undefined ? 'it cannot be parsed' : null;
    case 'ParameterExpansion':
      return node.operation?.type === 'Unknown' || node.operation?.type === 'Transform' || node.prefix === '!'
        ? 'it contains an expansion that can run code'
        : null;
    default:
      return null;
  }
};

const commandOf = (command: Command): RunCommand => {
  const { name, prefix, args, redirects } = command;
  return {
    words: [
      ...(name === undefined ? [] : [wordOf(name)]),
      ...args.map((each) => (each.type === 'Word' ? wordOf(each) : `${each.name}=${hole}`)),
    ],
    assigns: prefix.some((each) => each.type === 'Assignment'),
    writes: redirects.some(isWrite),
  };
};

const isWrite = (each: Redirection): boolean =>
  each.type === 'Redirect' &&
  !/^<&?$/.test(each.operator) &&
  each.target?.text !== '/dev/null' &&
  !(each.operator === '>&' && /^[\d-]+$/.test(each.target?.text ?? ''));

/** The parts that a shell does not change are literal. */
const wordOf = ({ parts, value }: Pick<Word, 'parts' | 'value'>): string =>
  parts === undefined ? value : parts.map(partOf).join('');

type Part = NonNullable<Word['parts']>[number];

const partOf = (part: Part): string => {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return part.value;
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.map(partOf).join('');
    default:
      return hole;
  }
};
