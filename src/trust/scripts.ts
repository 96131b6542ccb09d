import { posix } from 'node:path';
import { decidersOf } from '../guard/deciders/deciders.ts';
import type { Files } from '../guard/deciders/scope.ts';
import { type ShellCommand, shellCommands } from '../guard/deciders/shell.ts';

/** Where the project is, and the home folder of the user: a command may name them. */
export interface Roots {
  readonly project: string;
  readonly home: string;
}

/**
 * The files of the project that a command names and may run: `./tools/agent`, `sh scripts/setup.sh`, and every other
 * script among its words, as nobody knows all programs that run one.
 */
export const scriptsIn = (command: string, files: Files, roots: Roots): string[] => {
  const found = new Set<string>();
  follow(command, '.', {
    run: (path) => {
      const own = inProject(path, roots);
      if (isBelow(own) && files.isFile(own)) found.add(own);
    },
    name: (path) => {
      const own = inProject(path, roots);
      if (isBelow(own) && files.isFile(own) && isScript(own, files)) found.add(own);
    },
  });
  return [...found];
};

/** A path of the project as it is from there. */
const inProject = (path: string, { project, home }: Roots): string => {
  const whole = path.startsWith('~/') ? posix.join(home, path.slice(2)) : path;
  return posix.isAbsolute(whole) ? posix.relative(project, whole) : whole;
};

const isScript = (path: string, files: Files): boolean =>
  /\.(?:sh|bash|zsh|ksh|fish|[cm]?[jt]sx?|py|rb|pl|pm|php|lua|awk|sed|ps1|r|tcl|groovy|jl|exs?|nu|mk)$/i.test(path) ||
  (files.read(path)?.startsWith('#!') ?? false);

/** Programs that run none of the files that they are given. */
const harmless = /^(?:cp|mv|rm|ls|ln|test|\[|mkdir|rmdir|touch|chmod|chown|diff|cmp|stat|wc|du|echo|printf)$/;

/**
 * The same for a command that verifies work. What it names may be the work itself, which is changed all the time: only
 * what decides whether it passes is among them.
 */
export const checksIn = (command: string, files: Files): string[] => {
  const words = shellCommands(command)
    .flat()
    .map((word) => posix.normalize(word));
  const isNamed = (path: string) => words.some((word) => path === word || path.endsWith(`/${word}`));
  return decidersOf([command], files).filter((key) => isBelow(key) && files.isFile(key) && isNamed(key));
};

/** The same for a program with its arguments, without a shell: all that it names. */
export const filesIn = (words: readonly string[], files: Files): string[] =>
  [...new Set(words.map((word) => posix.normalize(word)))].filter((path) => isBelow(path) && files.isFile(path));

const isBelow = (path: string) => !posix.isAbsolute(path) && path !== '..' && !path.startsWith('../');

interface Found {
  /** A file that is run. */
  run(path: string): void;
  /** A file that is named, and may be run. */
  name(path: string): void;
}

const follow = (text: string, start: string, found: Found): void => {
  let cwd = start;
  for (const command of shellCommands(text)) {
    const [program = '', ...args] = withoutPrefix(command);
    if (program === 'cd' || program === 'pushd') cwd = posix.join(cwd, args[0] ?? '.');
    else run(program, args, { cwd, found });
  }
};

const from = (cwd: string, path: string): string =>
  posix.isAbsolute(path) || path.startsWith('~/') ? path : posix.join(cwd, path);

const run = (program: string, args: readonly string[], { cwd, found }: { cwd: string; found: Found }): void => {
  if (program.includes('/')) found.run(from(cwd, program));
  if (!harmless.test(program)) for (const word of args) for (const part of word.split('=')) found.name(from(cwd, part));
  if (!/^(?:\.|source|eval)$/.test(program) && !interpreters.test(posix.basename(program))) return;
  const text = args[args.findIndex((word) => /^-\w*c$/.test(word)) + 1];
  if (program === 'eval') return follow(args.join(' '), cwd, found);
  if (args.some((word) => /^-\w*c$/.test(word))) return follow(text ?? '', cwd, found);
  // An option may take the word behind it, so each of the first words may be the script.
  for (const word of args.slice(0, args.findIndex((each) => !each.startsWith('-')) + 2))
    if (!word.startsWith('-')) found.run(from(cwd, word));
};

const interpreters =
  /^(?:(?:ba|da|z|k|a)?sh|node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy3?|ruby|perl|php|pwsh|Rscript|lua)$/;

/** Words of the shell, variables, and programs that run the one behind their own options. */
const prefixes =
  /^(?:if|then|else|elif|while|until|do|!|\{|time|env|exec|command|nice|nohup|sudo|timeout|xargs|stdbuf|setsid|busybox|\w+=.*|-.*|[\d.]+[smhd]?)$/s;

const withoutPrefix = (words: ShellCommand): readonly string[] => {
  const start = words.findIndex((word) => !prefixes.test(word));
  return start === -1 ? [] : words.slice(start);
};
