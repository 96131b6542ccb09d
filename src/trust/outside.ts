import { posix } from 'node:path';
import { readRegular } from '../files/regular.ts';
import { shellCommands } from '../guard/deciders/shell.ts';
import { createTrustCheck } from '../process/trusted-path.ts';
import { onPath } from '../process/which.ts';
import { isShell } from '../text/shell-names.ts';
import { allWords } from './words.ts';

/** Where a process outside of a sandbox runs, which must not run anything that agents could write. */
export interface Outside {
  /** Folders that agents can write to, as given and as real paths. */
  readonly writable: readonly string[];
  readonly home: string;
  /** Folders in which programs look for settings and packages. */
  readonly folders: readonly string[];
  /** The PATH of the process. */
  readonly path: string;
}

export interface BackReferences {
  /** What leads to a folder that agents can write to, or works only in the project. */
  readonly reasons: readonly string[];
  /** Those folders. */
  readonly folders: readonly string[];
}

/**
 * A command outside of a sandbox runs in a folder with copies of the files that it names, so it finds nothing else of
 * the project by relative paths. Returns how it could find something nevertheless: by an absolute path, through a link,
 * or from the home folder. Also returns programs that need the project itself.
 */
export const backReferences = (command: string, scripts: readonly string[], outside: Outside): BackReferences => {
  const { writable, home, path } = outside;
  const isTrusted = createTrustCheck(writable);
  const texts = [command, ...scripts].map((text) => text.slice(0, maxLength));
  const words = [...new Set(texts.flatMap(allWords))].slice(0, maxWords);
  const files = words.map((word) => fileOf(word, outside)).filter((file) => file !== null);
  const all = [...texts, ...files.filter((file) => isProgramOn(path, file)).map(scriptAt)];
  const mentioned = writable.filter((folder) => all.some((text) => mentions(text, folder, home)));
  const others = [
    ...[...outside.folders, ...files].filter((file) => !isTrusted(file)),
    ...texts.flatMap((text) => programsIn(text)).filter((program) => needsProject.test(program)),
  ];
  return {
    reasons: [...new Set([...mentioned, ...others])],
    folders: others.length > 0 ? writable : mentioned,
  };
};

const maxLength = 100_000;
const maxWords = 2000;

/** Returns the file that a word may stand for, by its absolute path or as a program; null for other words. */
const fileOf = (word: string, { home, path }: Outside): string | null => {
  const whole = word.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, home);
  if (posix.isAbsolute(whole)) return posix.normalize(whole);
  return /^[\w.+@-]{1,100}$/.test(word) ? onPath(word, path) : null;
};

const isProgramOn = (path: string, file: string) => path.split(':').includes(posix.dirname(file));

/** Returns the text of a program that is a script, which may run a file of the project; empty for any other. */
const scriptAt = (file: string): string => {
  const text = readRegular(file, { limit: maxLength })?.toString('latin1') ?? '';
  return text.startsWith('#!') ? text : '';
};

/** Returns true if a text contains a path, and not only a longer name that begins with it. */
export const containsPath = (text: string, path: string): boolean =>
  text
    .split(path)
    .slice(1)
    .some((rest) => !/^[\w.-]/.test(rest));

/** Whether a text names a folder. After `cd`, which may lead to a folder around it, its name is enough. */
const mentions = (text: string, folder: string, home: string): boolean => {
  const below = posix.relative(home, folder);
  const inHome = below.startsWith('..') ? [] : ['~', '$HOME', '${HOME}'].map((name) => `${name}/${below}`);
  if ([folder, ...inHome].some((path) => containsPath(text, path))) return true;
  const name = posix.basename(folder);
  return leaves.test(text) && text.split(/[\s"'`;&|()<>=]/).some((word) => word.split('/').includes(name));
};

const leaves = /\b(?:cd|pushd|chdir|directory|prefix|cwd)\b|-C/;

/** They run what is installed in the project, or download it; git uses the repository. */
const needsProject =
  /^(?:npm|npx|pnpm|pnpx|yarn|yarnpkg|bun|bunx|corepack|uv|uvx|pipx|poetry|pipenv|pdm|hatch|rye|bundle|composer|cargo|go|mise|git)$/;

/** Words before the program that a command runs. */
const prefix =
  /^(?:\w+=.*|-.*|[\d.]+[smhd]?|if|then|else|elif|while|until|do|!|\{|time|env|exec|command|nice|nohup|sudo|timeout|setsid|stdbuf|xargs)$/s;

/** Returns the names of the programs of all commands in a text, including those in `sh -c '…'`. */
const programsIn = (text: string, depth = 0): string[] =>
  shellCommands(text).flatMap((words) => {
    const start = words.findIndex((word) => !prefix.test(word));
    const program = posix.basename(words[start] ?? '');
    const inner = isShell(program) && depth < maxDepth ? words.filter((word) => /\s/.test(word)) : [];
    return [program, ...inner.flatMap((each) => programsIn(each, depth + 1))];
  });

const maxDepth = 3;
