import { posix } from 'node:path';

/** Reads files; paths are relative to one folder. */
export interface Files {
  /** Returns null if the path is not a readable file, and only the beginning of a very long one. */
  read(path: string): string | null;
  isFile(path: string): boolean;
  /** The names in a folder; empty if there is no such folder. */
  list(folder: string): readonly string[];
}

/** A program and its arguments. */
export type Words = readonly [string, ...string[]];

/** Widens the search from what decides a command to every file it names and may run, including the work itself. */
export interface Wide {
  /** Whether a program may run a file that is one of its arguments. */
  mayRun(program: string, path: string): boolean;
  /** Called with a word in the place of a script if it is not known which file that is. */
  unclear(word: string): void;
}

/** Where a command runs, and what to do with the files it runs. */
export interface Scope {
  readonly files: Files;
  readonly cwd: string;
  /** The folder in which the text that contains the command is, or runs. */
  readonly start: string;
  /** Folders to which its paths may be relative, the most likely one first. */
  readonly folders: readonly string[];
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** The words of the previous command, which may be files that are piped to it. */
  readonly piped: readonly string[];
  /** Absent if the search is only for what decides the command. */
  readonly wide?: Wide | undefined;
  /** Called with the key of a decider. */
  found(key: string): void;
  /** Follows a program that the command runs. */
  followProgram(words: Words, scope: Scope): void;
  /** Follows a shell text that runs in a folder; with `wide` if the text is part of the command itself. */
  follow(text: string, cwd: string, wide?: Wide): void;
}

/** The scope in a folder relative to its own. */
export const inFolder = (scope: Scope, folder: string): Scope => {
  const cwd = posix.isAbsolute(folder) ? folder : posix.join(scope.cwd, folder);
  return { ...scope, cwd, folders: [cwd, ...scope.folders] };
};

/** Variables whose value is never a file of the project that is not named. */
const known = /^\$\{?(?::top|HOME|USER|LOGNAME|TMPDIR|XDG_\w+|PATH|SHELL|0)\}?(?=$|[^\w}])/;

/** Reports words in the place of a script that may stand for any file. */
export const noteUnclear = ({ wide }: Scope, words: readonly string[]): void => {
  for (const word of words) if (isUnclear(word.replace(known, ''))) wide?.unclear(word);
};

const variable = /\$(?:\(\)|\{[^}]{0,100}\}|\w+|[@*#?!-])/;
const isUnclear = (word: string) => variable.test(word);

/** The rest of a word that starts with a variable; null if it does not. */
const behindVariable = (word: string): string | null => {
  const found = variable.exec(word);
  return found?.index === 0 ? word.slice(found[0].length).replace(/^\/+/, '') : null;
};

/** Folders that an unknown variable may stand for. */
const likelyFolders = ({ cwd, start, folders }: Scope): string[] => [
  ...new Set(['.', start, posix.dirname(start), cwd, ...folders]),
];

/** A scope for each folder that `cd` may lead to. */
export const inFolders = (scope: Scope, folder: string): Scope[] => {
  if (!isUnclear(folder) && folder !== '-') return [inFolder(scope, folder)];
  const rest = behindVariable(folder) ?? '';
  const below = isUnclear(rest) ? '' : rest;
  const targets = likelyFolders(scope).map((each) => posix.join(each, below).replace(/(?<=.)\/$/, ''));
  return [...new Set(targets)]
    .filter((each) => !each.startsWith('..'))
    .map((cwd) => ({ ...scope, cwd, folders: [cwd, ...scope.folders] }));
};

export const followWords = (scope: Scope, [program, ...args]: readonly string[]): void => {
  if (program !== undefined) scope.followProgram([program, ...args], scope);
};

export const isOption = (word: string) => word.startsWith('-');

/** The value of `-C dir` or `--prefix=dir`; null if the option is not given. */
export const optionOf = (args: readonly string[], names: readonly string[]): string | null => {
  const index = args.findIndex((word) => names.some((name) => word === name || word.startsWith(`${name}=`)));
  if (index === -1) return null;
  return names.includes(args[index]!) ? (args[index + 1] ?? null) : args[index]!.replace(/^[^=]*=/, '');
};

/** The existing files that words name, relative to the current folder or an earlier one. */
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

/** A variable at the start of a word may be any folder, a later one any name. */
const filesLike = (scope: Scope, word: string): string[] => {
  const rest = behindVariable(word);
  const pattern = (rest ?? word).replaceAll(new RegExp(variable, 'g'), '*');
  if (/^[*./]*$/.test(pattern)) return [];
  const folders = rest === null ? [scope.cwd, ...scope.folders] : likelyFolders(scope);
  const paths = folders.flatMap((folder) => expand(scope.files, posix.join(folder, pattern)));
  return [...new Set(paths)].filter((path) => scope.files.isFile(path));
};

/** Replaces `[x]` and `{x,y}`, which match one of several names, with a star. */
export const looser = (path: string): string => path.replaceAll(/\[[^/]{0,64}\]|\{[^/]{0,64}\}/g, '*');

/** Expands `*` and `?` in each part of a path. */
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
    /** The position after the last star, and the end of what it matches so far. */
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

/** `CI=1` */
export const isAssignment = (word: string) => /^\w+=/.test(word);

/** Options whose value is the next word. */
export const takesValue =
  /^(?:-[ounpskCfIS]|--chdir|--split-string|-\w+o|--package|--require|--import|--loader|--with|--extra|--group|--python)$/;

/** Returns the position of the first word that is neither an option, its value, nor an assignment. */
export const firstArgument = (args: readonly string[]): number => {
  let index = 0;
  while (index < args.length && (isOption(args[index]!) || isAssignment(args[index]!)))
    index += takesValue.test(args[index]!) ? 2 : 1;
  return index;
};
