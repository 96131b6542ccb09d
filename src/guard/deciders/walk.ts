import { wordsGiven } from './find.ts';
import { filesNamed, followWords, inFolders, isAssignment, type Scope } from './scope.ts';
import type { ShellCommand } from './shell.ts';

/** Follows the commands of a script in order, with the folders and variables that they set. */
export const walk = (commands: readonly ShellCommand[], start: Scope): void => {
  let scopes: readonly Scope[] = [start];
  const left: (readonly Scope[])[] = [];
  for (const command of commands) {
    if (command[0] === '(') left.push(scopes);
    else if (command[0] === ')') scopes = backIn(left.pop(), scopes);
    else scopes = scopes.flatMap((scope) => followOne(command, scope)).slice(0, maxFolders);
  }
};

/** An unknown `cd` may lead to several folders, and a second one to several for each of those. */
const maxFolders = 8;

/** The scopes from before a subshell, with the folders that it was in added. */
const backIn = (before: readonly Scope[] | undefined, now: readonly Scope[]): readonly Scope[] => {
  if (before === undefined) return now;
  const folders = now.flatMap((scope) => scope.folders);
  return before.map((scope) => ({ ...scope, folders: [...new Set([...scope.folders, ...folders])] }));
};

/** Shell keywords before a command. */
const keywords = new Set(['if', 'then', 'else', 'elif', 'while', 'until', 'do', '!', '{', 'time']);

/** Returns the scopes in which the next command may run. */
const followOne = (command: ShellCommand, scope: Scope): Scope[] => {
  const start = command.findIndex((word) => !keywords.has(word));
  const [first = '', name = '', third, ...values] = start === -1 ? [] : command.slice(start);
  if (first === 'for' && third === 'in') return [bind(scope, [[name, valuesNamed(scope, values)]])];
  const words = command.slice(Math.max(0, start));
  const from = words.findIndex((word) => !isAssignment(word));
  const set = from === -1 ? words : words.slice(0, from);
  const inside = bind(
    scope,
    set.map((word) => [word.replace(/=.*/s, ''), [word.replace(/^\w+=/, '')]]),
  );
  const commands = from === -1 ? [] : variantsOf(words.slice(from), inside);
  const [program = '', folder] = commands[0] ?? [];
  if (/^(?:cd|pushd)$/.test(program)) return folder === undefined ? [inside] : inFolders(inside, folder);
  for (const each of commands) {
    followWords(inside, each);
    noteNamed(inside, each);
  }
  return [{ ...inside, piped: wordsGiven(commands.flat(), inside) }];
};

/** The programs that run a file among their arguments are not all known, so `wide` decides. */
const noteNamed = (scope: Scope, [program = '', ...args]: readonly string[]): void => {
  const { wide } = scope;
  if (wide === undefined) return;
  const words = args.flatMap((word) => (word.includes('=') ? [word, ...word.split('=')] : [word]));
  for (const path of filesNamed(scope, words)) if (wide.mayRun(program, path)) scope.found(path);
};

/** The files that words name; words that name none are returned unchanged. */
const valuesNamed = (scope: Scope, values: readonly string[]): string[] =>
  values.flatMap((value) => {
    const files = filesNamed(scope, [value]);
    return files.length > 0 || /[*?]/.test(value) ? files : [value];
  });

const bind = (scope: Scope, pairs: readonly (readonly [string, readonly string[]])[]): Scope =>
  pairs.length === 0 ? scope : { ...scope, variables: new Map([...scope.variables, ...pairs]) };

/** A command for each value that its variables may have. */
const variantsOf = (words: readonly string[], { variables }: Scope): string[][] => {
  const valuesOf = (word: string, depth = 0): readonly string[] => {
    const [variable = '', name = ''] = /\$\{?(\w+)\}?/.exec(word) ?? [];
    const values = variables.get(name)?.map((value) => word.replace(variable, () => value));
    if (values === undefined || depth === maxDepth) return values ?? [word];
    return values.slice(0, maxValues).flatMap((value) => valuesOf(value, depth + 1));
  };
  const all = words.map((word) => valuesOf(word));
  const times = Math.max(...all.map((values) => values.length));
  return Array.from({ length: times }, (_, index) => all.flatMap((values) => values[index % values.length] ?? []));
};

/** Limits for variables that contain variables, and for the files that a loop iterates over. */
const maxDepth = 3;
const maxValues = 200;
