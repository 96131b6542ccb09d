/** The words of a simple shell command, without quotes; or a parenthesis of a subshell. */
export type ShellCommand = readonly string[];

/**
 * The simple commands in a shell text, in order, including those in `$(…)` and backticks. Only detailed enough to find
 * what a command runs: of all expansions, only `$PWD`, `$(pwd)` and defaults such as `${CI:-x}` are made. Any other
 * `$(…)` becomes `$()` in its word, or `topFolder`; its commands come in parentheses before the command that contains
 * it.
 */
export const shellCommands = (text: string): ShellCommand[] => {
  const found: ShellCommand[] = [];
  let words: string[] = [];
  /** The pieces of the current word; null between two words. */
  let word: string[] | null = null;
  /** The next word is a file that is written to, which does not decide anything. */
  let drops = false;
  const add = (piece: string) => void (word ??= []).push(piece);
  const endWord = () => {
    if (word !== null && !drops) words.push(word.join(''));
    if (word !== null) drops = false;
    word = null;
  };
  const endCommand = () => {
    endWord();
    drops = false;
    if (words.length > 0) found.push(words);
    words = [];
  };
  for (const { groups } of withoutHereDocuments(text).matchAll(token)) {
    const { single, double, inner, plain, redirect, bracket, end, blank } = groups!;
    if (single !== undefined) add(single);
    if (plain !== undefined) add(withDefaults(plain.replace(/^\\\n?/, '')));
    if (double !== undefined) {
      for (const [each] of double.matchAll(substitutions)) found.push(...inSubshell(each));
      add(withDefaults(double.replaceAll(substitutions, printedBy).replaceAll(/\\(["\\$`])/g, '$1')));
    }
    if (inner !== undefined) {
      found.push(...inSubshell(inner));
      add(printedBy(inner));
    }
    if (redirect !== undefined) {
      endWord();
      drops = /^\d*(?:>|<[<&(])/.test(redirect);
    }
    if (blank !== undefined) endWord();
    if (end !== undefined || bracket !== undefined) endCommand();
    if (bracket !== undefined) found.push([bracket]);
  }
  endCommand();
  return found;
};

const substitution = String.raw`(?:\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\x60[^\x60]*\x60)`;
const substitutions = new RegExp(substitution, 'g');

/** Placeholder for the top folder of the repository. */
const topFolder = '${:top}';

const printedBy = (inner: string): string => {
  const command = withoutMarks(inner).trim();
  if (/^pwd(?: -[LP])?$/.test(command)) return '.';
  return command === 'git rev-parse --show-toplevel' ? topFolder : '$()';
};

const inSubshell = (inner: string): ShellCommand[] => [['('], ...shellCommands(withoutMarks(inner)), [')']];

const token = new RegExp(
  [
    String.raw`'(?<single>[^']*)'`,
    String.raw`"(?<double>(?:${substitution}|(?!${substitution})[^"\\]|\\[\s\S])*)"`,
    `(?<inner>${substitution})`,
    String.raw`(?<=^|\s)(?<comment>#[^\n]*)`,
    String.raw`(?<redirect>(?:(?<=^|[\s;&|()])\d+)?[<>]+[&(]?|&>+)`,
    String.raw`(?<bracket>[()])`,
    String.raw`(?<end>[;&|\n\r]+)`,
    String.raw`(?<blank>\s+)`,
    String.raw`(?<plain>\\[\s\S]?|\$\{[^}]{0,100}\}|\$\w+|[^\s'"\x60$\\<>();&|]+|.)`,
  ].join('|'),
  'g',
);

const withoutMarks = (inner: string) => (inner.startsWith('`') ? inner.slice(1, -1) : inner.slice(2, -1));

const withDefaults = (text: string) =>
  text.replaceAll(/\$(?:PWD\b|\{PWD\})/g, '.').replaceAll(/\$\{\w+:?[-=]([^}]{0,100})\}/g, '$1');

const withoutHereDocuments = (text: string): string => {
  const lines = text.split('\n');
  let end: string | null = null;
  return lines
    .flatMap((line, index) => {
      if (end !== null) {
        if (line.trim() === end) end = null;
        return [];
      }
      const found = index === lines.length - 1 ? null : /<<-?\s*(['"]?)(\w+)\1/.exec(line);
      end = found?.[2] ?? null;
      return [found ? line.replace(found[0], '') : line];
    })
    .join('\n');
};
