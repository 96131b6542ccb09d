import { posix } from 'node:path';
import { decidersOf, filesRunBy } from '../guard/deciders/deciders.ts';
import type { Files } from '../guard/deciders/scope.ts';
import { namedByWords } from './words.ts';

/** Where the project is, and the home folder of the user: a command may name them. */
export interface Roots {
  readonly project: string;
  readonly home: string;
}

export interface Scripts {
  readonly files: readonly string[];
  /** What stands for a file that the command runs, and cannot be told before it does. */
  readonly unclear: readonly string[];
}

/**
 * The files of the project that a command names and may run: `./tools/agent`, `sh scripts/setup.sh`, and every other
 * file among its words; and the scripts that these run. With `all`, also what it only copies.
 */
export const scriptsIn = (
  command: string,
  files: Files,
  { all = false, ...roots }: Roots & { all?: boolean },
): Scripts => {
  const seen = look(command, files, roots, true);
  const text = fromProject(command, roots);
  const named = namedByWords(
    all ? text.replaceAll(/(?:(?<=^|[\s"'=:])~|\$HOME|\$\{HOME\})(?=\/)/g, roots.home) : text,
    files,
    {
      all,
    },
  );
  return {
    files: [...new Set([...seen.files, ...named.files])],
    unclear: [...new Set([...seen.unclear, ...named.unclear])],
  };
};

const look = (command: string, files: Files, roots: Roots, deep: boolean): Scripts => {
  const unclear = new Set<string>();
  const wide = {
    mayRun: (program: string, path: string) => !harmless.test(program) && isScript(path, files),
    unclear: (word: string) => void unclear.add(word),
  };
  const found = filesRunBy(fromProject(command, roots), { files, wide, deep });
  return { files: found.filter((path) => isBelow(path) && files.isFile(path)), unclear: [...unclear] };
};

/** Paths of the project, as they are from there. */
const fromProject = (text: string, { project, home }: Roots): string => {
  const below = posix.relative(home, project);
  const inHome = isBelow(below) && below !== '' ? ['~', '$HOME', '${HOME}'].map((name) => `${name}/${below}`) : [];
  return [project, ...inHome].reduce(withoutRoot, text);
};

/** Where a path begins and ends in a command. */
const before = /(?:^|[\s"'`=:;&|(<>])$/;
const behind = /^(?:$|[\s"'`/;&|)<>])/;

const withoutRoot = (text: string, root: string): string => {
  const [first = '', ...rest] = text.split(root);
  return rest.reduce(
    (done, next) => done + (before.test(done.slice(-1)) && behind.test(next.slice(0, 1)) ? '.' : root) + next,
    first,
  );
};

const isScript = (path: string, files: Files): boolean =>
  /\.(?:sh|bash|zsh|ksh|fish|[cm]?[jt]sx?|py|rb|pl|pm|php|lua|awk|sed|ps1|r|tcl|groovy|jl|exs?|nu|mk)$/i.test(path) ||
  /\/[^./]+$/.test(path) ||
  (files.read(path)?.startsWith('#!') ?? false);

/** Programs that run none of the files that they are given. */
const harmless = /^(?:cp|mv|rm|ls|ln|test|\[|mkdir|rmdir|touch|chmod|chown|diff|cmp|stat|wc|du|echo|printf)$/;

/**
 * The same for a command that verifies work. What it names may be the work itself, which is changed all the time: only
 * what decides whether it passes is among them.
 */
export const checksIn = (command: string, files: Files, roots: Roots): Scripts => {
  const named = look(command, files, roots, false);
  const deciders = new Set(decidersOf([fromProject(command, roots)], files));
  return { ...named, files: named.files.filter((path) => deciders.has(path)) };
};

/** The same for a program with its arguments, without a shell: all that it names. */
export const filesIn = (words: readonly string[], files: Files, roots: Roots): string[] =>
  [...new Set(words.map((word) => posix.normalize(fromProject(word, roots))))].filter(
    (path) => isBelow(path) && files.isFile(path),
  );

const isBelow = (path: string) => !posix.isAbsolute(path) && path !== '..' && !path.startsWith('../');
