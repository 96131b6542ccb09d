import { posix } from 'node:path';

/** A way to look at files; paths are relative to one folder. */
export interface Files {
  /** null for what is no file, or cannot be read. */
  read(path: string): string | null;
  isFile(path: string): boolean;
  /** The names in a folder; empty when it is none. */
  list(folder: string): readonly string[];
}

/** A command, and the words behind it. */
export type Words = readonly [string, ...string[]];

/**
 * Widens what is looked for from what decides a command to all that it runs, the work itself included, of the files that
 * it names.
 */
export interface Wide {
  /** Whether a program may run a file that it is given. */
  mayRun(program: string, path: string): boolean;
  /** Called with what stands for a file that runs, and cannot be told. */
  unclear(word: string): void;
}

/** Where a command stands, and what to do with what it runs. */
export interface Scope {
  readonly files: Files;
  readonly cwd: string;
  /** Where the text that has it stands, or is run. */
  readonly start: string;
  /** Folders from which it may name a file, the nearest first. */
  readonly folders: readonly string[];
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** The words of the command before it, which may be files that it reads. */
  readonly piped: readonly string[];
  /** Absent where only what decides it is looked for. */
  readonly wide?: Wide | undefined;
  /** Called with the key of what decides it. */
  found(key: string): void;
  /** Looks into a program that it runs, from the same place or another. */
  run(words: Words, scope: Scope): void;
  /** Looks into the text of a shell that it runs in a folder; with `wide` when the text is a part of the command. */
  follow(text: string, cwd: string, wide?: Wide): void;
}

/** The same, in a folder below. */
export const inFolder = (scope: Scope, folder: string): Scope => {
  const cwd = posix.isAbsolute(folder) ? folder : posix.join(scope.cwd, folder);
  return { ...scope, cwd, folders: [cwd, ...scope.folders] };
};

/** The user's own folders and names are not in the project. */
const known = /^\$\{?(?::top|HOME|USER|LOGNAME|TMPDIR|XDG_\w+|PATH|SHELL|0)\}?(?=$|[^\w}])/;

/** Tells of a word in the place of a script that may stand for any file. */
export const noteUnclear = ({ wide }: Scope, words: readonly string[]): void => {
  for (const word of words) if (isUnclear(word.replace(known, ''))) wide?.unclear(word);
};

const variable = /\$(?:\(\)|\{[^}]{0,100}\}|\w+|[@*#?!-])/;
const isUnclear = (word: string) => variable.test(word);

/** Behind a variable at its start; null when there is none. */
const behindVariable = (word: string): string | null => {
  const found = variable.exec(word);
  return found?.index === 0 ? word.slice(found[0].length).replace(/^\/+/, '') : null;
};

/** Where a variable that is not understood may point to. */
const likelyFolders = ({ cwd, start, folders }: Scope): string[] => [
  ...new Set(['.', start, posix.dirname(start), cwd, ...folders]),
];

/** The same, in each folder that `cd` may go to. */
export const inFolders = (scope: Scope, folder: string): Scope[] => {
  if (!isUnclear(folder) && folder !== '-') return [inFolder(scope, folder)];
  const rest = behindVariable(folder) ?? '';
  const below = isUnclear(rest) ? '' : rest;
  const targets = likelyFolders(scope).map((each) => posix.join(each, below).replace(/(?<=.)\/$/, ''));
  return [...new Set(targets)]
    .filter((each) => !each.startsWith('..'))
    .map((cwd) => ({ ...scope, cwd, folders: [cwd, ...scope.folders] }));
};

export const runWords = (scope: Scope, [program, ...args]: readonly string[]): void => {
  if (program !== undefined) scope.run([program, ...args], scope);
};

export const isOption = (word: string) => word.startsWith('-');

/** The value of `-C dir` or `--prefix=dir`; null when it is not given. */
export const optionOf = (args: readonly string[], names: readonly string[]): string | null => {
  const index = args.findIndex((word) => names.some((name) => word === name || word.startsWith(`${name}=`)));
  if (index === -1) return null;
  return names.includes(args[index]!) ? (args[index + 1] ?? null) : args[index]!.replace(/^[^=]*=/, '');
};

/** The existing files that words name, from where the command is, or from a folder that it was in. */
export const filesNamed = (scope: Scope, words: readonly string[]): string[] =>
  words.flatMap((word) => {
    if (isUnclear(word)) return filesLike(scope, word);
    for (const folder of new Set([scope.cwd, ...scope.folders])) {
      const path = posix.isAbsolute(word) ? word : posix.join(folder, word);
      const files = [...new Set([path, looser(path)])]
        .flatMap((each) => expand(scope.files, each))
        .filter((file) => scope.files.isFile(file));
      if (files.length > 0) return files;
    }
    return [];
  });

/** A variable at the start of a word may be any folder, and another one any name. */
const filesLike = (scope: Scope, word: string): string[] => {
  const rest = behindVariable(word);
  const pattern = (rest ?? word).replaceAll(new RegExp(variable, 'g'), '*');
  if (/^[*./]*$/.test(pattern)) return [];
  const folders = rest === null ? [scope.cwd, ...scope.folders] : likelyFolders(scope);
  const paths = folders.flatMap((folder) => expand(scope.files, posix.join(folder, pattern)));
  return [...new Set(paths)].filter((path) => scope.files.isFile(path));
};

/** The same path with a star in the place of `[x]` and `{x,y}`, which stand for one of several names. */
export const looser = (path: string): string => path.replaceAll(/\[[^/]{0,64}\]|\{[^/]{0,64}\}/g, '*');

/** `*` and `?` stand for all that fits, in each part of a path. */
export const expand = (files: Files, path: string): string[] => {
  const star = path.search(/[*?]/);
  if (star === -1) return [path];
  const at = path.lastIndexOf('/', star) + 1;
  const folder = path.slice(0, at);
  const [, pattern = '', rest = ''] = /^([^/]*)(.*)$/s.exec(path.slice(at))!;
  const names = files.list(folder === '' ? '.' : folder).filter(fitting(pattern));
  return names.flatMap((name) => expand(files, `${folder}${name.replaceAll(/[*?]/g, '')}${rest}`));
};

export const fitting =
  (pattern: string): ((name: string) => boolean) =>
  (name) => {
    let [at, inPattern] = [0, 0];
    /** Behind the last star, and what it stands for up to now. */
    let star: { inPattern: number; upTo: number } | null = null;
    while (at < name.length) {
      const sign = pattern[inPattern];
      if (sign === '*') {
        inPattern++;
        star = { inPattern, upTo: at };
      } else if (sign === '?' || sign === name[at]) {
        at++;
        inPattern++;
      } else if (star !== null) {
        star.upTo++;
        at = star.upTo;
        inPattern = star.inPattern;
      } else return false;
    }
    return /^\**$/.test(pattern.slice(inPattern));
  };
