import { posix } from 'node:path';
import { decidersOf, filesRunBy, maxScript } from '../guard/deciders/deciders.ts';
import type { Files } from '../guard/deciders/scope.ts';
import { shellNames } from '../text/shell-names.ts';
import { namedByWords } from './words.ts';

/** The project and the home folder of the user, which a command may name. */
export interface Roots {
  readonly project: string;
  readonly home: string;
}

export interface Scripts {
  readonly files: readonly string[];
  /** Words that stand for files that are not known before the command runs. */
  readonly unclear: readonly string[];
}

/**
 * Returns the files of the project that a command names and may run: `./tools/agent`, `sh scripts/setup.sh`, every
 * other file among its words, and the scripts that these run. With `all`, also files that it only copies.
 */
export const scriptsIn = (
  command: string,
  files: Files,
  { all = false, ...roots }: Roots & { all?: boolean },
): Scripts => {
  const seen = findScripts(command, files, roots, true);
  const text = fromProject(command, roots);
  const named = namedByWords(
    all ? text.replaceAll(/(?:(?<=^|[\s"'=:])~|\$HOME|\$\{HOME\})(?=\/)/g, roots.home) : text,
    files,
    {
      all,
    },
  );
  const found = [...new Set([...seen.files, ...named.files])];
  return { files: found, unclear: [...new Set([...seen.unclear, ...named.unclear, ...longScripts(found, files)])] };
};

/** Returns the scripts that are too long to find what they run. */
export const longScripts = (paths: readonly string[], files: Files): string[] =>
  paths.filter((path) => {
    const text = files.read(path) ?? '';
    return text.length > maxScript && !text.startsWith('\x7fELF');
  });

const findScripts = (command: string, files: Files, roots: Roots, deep: boolean): Scripts => {
  const unclear = new Set<string>();
  const wide = {
    mayRun: (program: string, path: string) => !harmless.test(program) && isScript(path, files),
    unclear: (word: string) => void unclear.add(word),
  };
  const found = filesRunBy(fromProject(command, roots), { files, wide, deep });
  return { files: found.filter((path) => isBelow(path) && files.isFile(path)), unclear: [...unclear] };
};

/** Replaces absolute paths of the project with relative ones. */
const fromProject = (text: string, { project, home }: Roots): string => {
  const below = posix.relative(home, project);
  const inHome = isBelow(below) && below !== '' ? ['~', '$HOME', '${HOME}'].map((name) => `${name}/${below}`) : [];
  return [project, ...inHome].reduce(withoutRoot, text);
};

/** What may precede and follow a path in a command. */
const pathPrefix = /(?:^|[\s"'`=:;&|(<>])$/;
const pathSuffix = /^(?:$|[\s"'`/;&|)<>])/;

const withoutRoot = (text: string, root: string): string => {
  const [first = '', ...rest] = text.split(root);
  return rest.reduce(
    (done, next) => done + (pathPrefix.test(done.slice(-1)) && pathSuffix.test(next.slice(0, 1)) ? '.' : root) + next,
    first,
  );
};

const scriptFile = new RegExp(
  String.raw`\.(?:${shellNames}|[cm]?[jt]sx?|py|rb|pl|pm|php|lua|awk|sed|ps1|r|tcl|groovy|jl|exs?|nu|mk)$`,
  'i',
);

const isScript = (path: string, files: Files): boolean =>
  scriptFile.test(path) || /\/[^./]+$/.test(path) || (files.read(path)?.startsWith('#!') ?? false);

/** Programs that do not run the files that they are given. */
const harmless = /^(?:cp|mv|rm|ls|ln|test|\[|mkdir|rmdir|touch|chmod|chown|diff|cmp|stat|wc|du|echo|printf)$/;

/**
 * Like `scriptsIn`, for a command that verifies work. It may name the work itself, which changes all the time, so only
 * files that decide whether it passes are returned.
 */
export const checksIn = (command: string, files: Files, roots: Roots): Scripts => {
  const named = findScripts(command, files, roots, false);
  const deciders = new Set(decidersOf([fromProject(command, roots)], files));
  return { ...named, files: named.files.filter((path) => deciders.has(path)) };
};

/** Like `scriptsIn`, for a program and its arguments without a shell: all files that it names. */
export const filesIn = (words: readonly string[], files: Files, roots: Roots): string[] =>
  [...new Set(words.map((word) => posix.normalize(fromProject(word, roots))))].filter(
    (path) => isBelow(path) && files.isFile(path),
  );

const isBelow = (path: string) => !posix.isAbsolute(path) && path !== '..' && !path.startsWith('../');
