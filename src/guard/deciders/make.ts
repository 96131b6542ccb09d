import { posix } from 'node:path';
import { includesIn, partKey, rulesOf, skippableIn } from './parts.ts';
import { filesNamed, inFolder, optionOf, type Scope, takesValue } from './scope.ts';

export const followMake = (scope: Scope, args: readonly string[]): void => {
  const file = optionOf(args, ['-f', '--file', '--makefile']);
  const names = file === null ? ['GNUmakefile', 'makefile', 'Makefile'] : [file];
  const inside = inFolder(scope, optionOf(args, ['-C', '--directory']) ?? '.');
  followRules(inside, names, targetsIn(args));
  const path = makefileAt(inside, names);
  if (path === undefined) return;
  const text = scope.files.read(path)!;
  const included = includesIn(text).flatMap((name) => filesNamed({ ...inside, folders: [] }, [name]));
  const whole = [text, ...included.map((each) => scope.files.read(each) ?? '')].join('\n');
  const there = new Set(scope.files.list(inside.cwd));
  // A file with that name would be enough for make to skip the rule.
  for (const name of targetsIn(args).flatMap((target) => skippableIn(whole, target)))
    if (!there.has(name)) scope.found(posix.join(inside.cwd, name));
};

const makefileAt = (scope: Scope, names: readonly string[]): string | undefined =>
  names.map((name) => posix.join(scope.cwd, name)).find((path) => scope.files.read(path) !== null);

/** An empty target is the first rule. */
export const targetsIn = (args: readonly string[]): string[] => {
  const targets = args.filter((word, index) => !/^-|=/.test(word) && !takesValue.test(args[index - 1] ?? ''));
  return targets.length === 0 ? [''] : targets;
};

/** Follows the rules for these targets in the first of the files that exists: a makefile, or a justfile. */
export const followRules = (scope: Scope, names: readonly string[], targets: readonly string[]): void => {
  const paths = names.map((name) => posix.join(scope.cwd, name));
  const path = makefileAt(scope, names);
  if (path === undefined) return;
  const text = scope.files.read(path)!;
  // If these existed, they would be used instead.
  paths.slice(0, paths.indexOf(path)).forEach((name) => scope.found(name));
  for (const name of includesIn(text)) followIncluded(scope, name, targets);
  for (const target of targets) {
    scope.found(partKey(path, `rule ${target}`));
    scope.follow(rulesOf(text, target).recipes, scope.cwd);
  }
};

/** Follows an included makefile. In an .env file, only what changes how recipes run decides. */
const followIncluded = (scope: Scope, name: string, targets: readonly string[]): void => {
  const isPattern = /[*?$]/.test(name);
  const there = filesNamed({ ...scope, folders: [] }, [name]);
  const paths = there.length === 0 && !isPattern ? [posix.join(scope.cwd, name)] : there;
  for (const path of paths) {
    scope.found(posix.basename(path).startsWith('.env') ? partKey(path, 'shell settings') : path);
    const text = scope.files.read(path) ?? '';
    for (const target of targets) scope.follow(rulesOf(text, target).recipes, scope.cwd);
  }
};
