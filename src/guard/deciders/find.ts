import { posix } from 'node:path';
import { fitting, isOption, optionOf, followWords, type Scope } from './scope.ts';

/** `find checks -name '*.sh' -exec sh {} ';'` */
export const followFind = (scope: Scope, args: readonly string[]): void => {
  const start = args.findIndex((word) => /^-(?:exec|execdir|ok|okdir)$/.test(word));
  if (start === -1) return;
  const end = args.findIndex((word, index) => index > start && /^[;+]$/.test(word));
  const command = args.slice(start + 1, end === -1 ? undefined : end);
  for (const file of filesFound(scope, args.slice(0, start)))
    followWords(
      scope,
      command.map((word) => word.replaceAll('{}', () => file)),
    );
};

/** The files that a command may pipe to the next one: those it names or finds. */
export const wordsGiven = ([program = '', ...args]: readonly string[], scope: Scope): readonly string[] =>
  program === 'find' ? filesFound(scope, args) : args.filter((word) => !isOption(word));

const maxFiles = 200;

const filesFound = (scope: Scope, args: readonly string[]): string[] => {
  const end = args.findIndex(isOption);
  const named = end === -1 ? args : args.slice(0, end);
  const fits = fitting(optionOf(args, ['-name', '-iname']) ?? '*');
  const paths = new Set(named.length === 0 ? ['.'] : named);
  const at = (path: string) => posix.join(scope.cwd, path);
  for (const path of paths) {
    if (paths.size > maxFiles) break;
    for (const name of scope.files.list(at(path)).filter((each) => !/^(?:node_modules|\.git)$/.test(each)))
      paths.add(posix.join(path, name));
  }
  return [...paths].filter((path) => fits(posix.basename(path)) && scope.files.isFile(at(path)));
};
