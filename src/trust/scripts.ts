import { posix } from 'node:path';
import { decidersOf } from '../project/deciders/deciders.ts';
import type { Files } from '../project/deciders/scope.ts';
import { type ShellCommand, shellCommands } from '../project/deciders/shell.ts';

/** The files of the project that a command itself names and runs: `./tools/agent`, `sh scripts/setup.sh`. */
export const scriptsIn = (command: string, files: Files): string[] => {
  const found = new Set<string>();
  follow(command, '.', (path) => {
    if (isBelow(path) && files.isFile(path)) found.add(path);
  });
  return [...found];
};

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

type Found = (path: string) => void;

const follow = (text: string, start: string, found: Found): void => {
  let cwd = start;
  for (const command of shellCommands(text)) {
    const [program = '', ...args] = withoutPrefix(command);
    if (program === 'cd' || program === 'pushd') cwd = posix.join(cwd, args[0] ?? '.');
    else run(program, args, { cwd, found });
  }
};

const run = (program: string, args: readonly string[], { cwd, found }: { cwd: string; found: Found }): void => {
  if (program.includes('/')) found(posix.join(cwd, program));
  if (!/^(?:\.|source|eval)$/.test(program) && !interpreters.test(posix.basename(program))) return;
  const text = args[args.findIndex((word) => /^-\w*c$/.test(word)) + 1];
  if (program === 'eval') return follow(args.join(' '), cwd, found);
  if (args.some((word) => /^-\w*c$/.test(word))) return follow(text ?? '', cwd, found);
  // An option may take the word behind it, so each of the first words may be the script.
  for (const word of args.slice(0, args.findIndex((each) => !each.startsWith('-')) + 2))
    if (!word.startsWith('-')) found(posix.join(cwd, word));
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
