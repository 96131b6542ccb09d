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

/** Where a command stands, and what to do with what it runs. */
export interface Scope {
  readonly files: Files;
  readonly cwd: string;
  /** Folders from which it may name a file, the nearest first. */
  readonly folders: readonly string[];
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** Called with the key of what decides it. */
  found(key: string): void;
  /** Looks into a program that it runs, from the same place or another. */
  run(words: Words, scope: Scope): void;
  /** Looks into the text of a shell that it runs in a folder. */
  follow(text: string, cwd: string): void;
}

/** The same, in a folder below. */
export const inFolder = (scope: Scope, folder: string): Scope => {
  const cwd = posix.join(scope.cwd, folder);
  return { ...scope, cwd, folders: [cwd, ...scope.folders] };
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
    for (const folder of new Set([scope.cwd, ...scope.folders])) {
      const path = posix.isAbsolute(word) ? word : posix.join(folder, word);
      const files = expand(scope.files, path).filter((file) => scope.files.isFile(file));
      if (files.length > 0) return files;
    }
    return [];
  });

/** `*` and `?` stand for all that fits, in each part of a path. */
export const expand = (files: Files, path: string): string[] => {
  const at = path.search(/[^/]*[*?]/);
  if (at === -1) return [path];
  const folder = path.slice(0, at);
  const [, pattern = '', rest = ''] = /^([^/]*)(.*)$/s.exec(path.slice(at))!;
  const names = files.list(folder === '' ? '.' : folder).filter(fitting(pattern));
  return names.flatMap((name) => expand(files, `${folder}${name.replaceAll(/[*?]/g, '')}${rest}`));
};

export const fitting = (pattern: string): ((name: string) => boolean) => {
  const fits = new RegExp(
    `^${pattern
      .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll(/\*+/g, '.*')
      .replaceAll('?', '.')}$`,
  );
  return (name) => fits.test(name);
};
