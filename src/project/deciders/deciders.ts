import { posix } from 'node:path';
import { isManager, runConcurrently, runEverywhere, runManager, runNamed, runScriptsNamed } from './packages.ts';
import { partKey, partOf, rulesOf, splitKey } from './parts.ts';
import { runners } from './runners.ts';
import { type Files, filesNamed, inFolder, isOption, optionOf, runWords, type Scope, type Words } from './scope.ts';
import { type ShellCommand, shellCommands } from './shell.ts';

/**
 * What decides whether these commands pass, besides the work itself: the scripts and rules that they run, and the
 * configuration of the runner of tests that those start. As keys: a path, or a path and a part of that file. A source
 * file that a command merely names is work, and is not among them; nor is what is not there yet.
 */
export const decidersOf = (commands: readonly string[], files: Files): string[] => {
  const found = new Set<string>();
  const seen = new Set<string>();
  const follow = (text: string, cwd: string): void => {
    const key = `${cwd}\0${text}`;
    if (seen.has(key) || text.length > longest) return;
    seen.add(key);
    const folders = [...new Set([cwd, '.'])];
    walk(shellCommands(text), {
      files,
      cwd,
      folders,
      variables: new Map(),
      found: (each) => found.add(each),
      run: runProgram,
      follow,
    });
  };
  for (const command of commands) follow(command, '.');
  return [...found];
};

/** Longer scripts are guarded, but not looked into. */
const longest = 100_000;

/** The text that a key stands for; null when it is not there. */
export const readDecider = (key: string, files: Files): string | null => {
  const { path, part } = splitKey(key);
  const text = files.read(path);
  return text === null ? null : partOf(text, part);
};

const walk = (commands: readonly ShellCommand[], start: Scope): void => {
  let scope = start;
  const left: string[] = [];
  for (const command of commands) {
    if (command[0] === '(') left.push(scope.cwd);
    else if (command[0] === ')') scope = at(scope, left.pop());
    else scope = runOne(command, scope);
  }
};

const at = (scope: Scope, cwd: string | undefined): Scope => (cwd === undefined ? scope : { ...scope, cwd });

/** Words of the shell that stand before a command. */
const keywords = new Set(['if', 'then', 'else', 'elif', 'while', 'until', 'do', '!', '{', 'time']);

/** Where the next command stands. */
const runOne = (command: ShellCommand, scope: Scope): Scope => {
  const start = command.findIndex((word) => !keywords.has(word));
  const [first = '', name = '', third, ...values] = start === -1 ? [] : command.slice(start);
  if (first === 'for' && third === 'in') return bind(scope, [[name, filesNamed(scope, values)]]);
  const words = command.slice(Math.max(0, start));
  const from = words.findIndex((word) => !isAssignment(word));
  const set = from === -1 ? words : words.slice(0, from);
  const inside = bind(
    scope,
    set.map((word) => [word.replace(/=.*/s, ''), [word.replace(/^\w+=/, '')]]),
  );
  const commands = from === -1 ? [] : variantsOf(words.slice(from), inside);
  const [program = '', folder] = commands[0] ?? [];
  if (/^(?:cd|pushd)$/.test(program)) return folder === undefined ? inside : inFolder(inside, folder);
  for (const each of commands) runWords(inside, each);
  return inside;
};

const bind = (scope: Scope, pairs: readonly (readonly [string, readonly string[]])[]): Scope =>
  pairs.length === 0 ? scope : { ...scope, variables: new Map([...scope.variables, ...pairs]) };

const isAssignment = (word: string) => /^\w+=/.test(word);

/** A command for each value that a variable in it may have. */
const variantsOf = (words: readonly string[], { variables }: Scope): string[][] => {
  const valuesOf = (word: string): readonly string[] => {
    const [variable = '', name = ''] = /\$\{?(\w+)\}?/.exec(word) ?? [];
    return variables.get(name)?.map((value) => word.replace(variable, () => value)) ?? [word];
  };
  const all = words.map(valuesOf);
  const times = Math.max(...all.map((values) => values.length));
  return Array.from({ length: times }, (_, index) => all.flatMap((values) => values[index % values.length] ?? []));
};

const shells = /^(?:ba|da|z|k|a)?sh$/;
const interpreters = /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy3?|ruby|perl|php|pwsh|Rscript|lua)$/;
const installed = /(?:^|\/)(?:node_modules\/\.bin|vendor\/bin|\.?venv\/bin)\//;
/** Programs that run the command behind their own options. */
const wrappers =
  /^(?:env|exec|command|nice|nohup|sudo|timeout|xargs|stdbuf|xvfb-run|npx|bunx|pnpx|uvx|cross-env|dotenv|c8|nyc)$/;
/** Programs that do so with a word of their own: `poetry run pytest`. */
const wrapping = /^(?:(?:uv|poetry|pipenv|pdm|hatch|rye) run|(?:bundle|mise) exec)$/;

const runProgram = ([path, ...args]: Words, scope: Scope): void => {
  const program = installed.test(path) ? posix.basename(path) : path;
  configure(scope, program, args);
  if (program.includes('/')) return runFile(scope, program);
  if (program === '.' || program === 'source') return runScripts(scope, args.slice(0, 1));
  if (shells.test(program)) return runShell(scope, args);
  if (wrappers.test(program)) return runRest(scope, args);
  if (wrapping.test(`${program} ${args[0]}`)) return runRest(scope, args.slice(1));
  if (/^g?make$/.test(program)) return runMake(scope, args);
  if (program === 'just') return runRules(scope, ['justfile', 'Justfile', '.justfile'], targetsIn(args));
  if (program === 'composer') return runNamed(scope, args, ['composer.json', 'scripts']);
  if (program === 'deno' && args[0] === 'task')
    return ['deno.json', 'deno.jsonc'].forEach((file) => runNamed(scope, args.slice(1), [file, 'tasks']));
  if (isManager(program) && runManager(scope, program, args)) return;
  if (/^(?:run-[sp]|npm-run-all2?)$/.test(program)) return runScriptsNamed(scope, args);
  if (program === 'concurrently') return runConcurrently(scope, args);
  if (/^(?:turbo|lerna|nx)$/.test(program)) return runEverywhere(scope, args);
  if (interpreters.test(program)) runInterpreter(scope, args);
};

/** Options that take the next word. */
const takesValue = /^(?:-[ounpskCf]|-\w+o|--package|--require|--import|--loader)$/;

/** The command behind the options of a wrapper. */
const runRest = (scope: Scope, args: readonly string[]): void => {
  const rest = args.slice(firstArgument(args));
  runWords(scope, /^[\d.]+[smhd]?$/.test(rest[0] ?? '') ? rest.slice(1) : rest);
};

const firstArgument = (args: readonly string[]): number => {
  let index = 0;
  while (index < args.length && (isOption(args[index]!) || isAssignment(args[index]!)))
    index += takesValue.test(args[index]!) ? 2 : 1;
  return index;
};

const runShell = (scope: Scope, args: readonly string[]): void => {
  const text = args[args.findIndex((word) => /^-\w*c$/.test(word)) + 1];
  if (args.some((word) => /^-\w*c$/.test(word))) return scope.follow(text ?? '', scope.cwd);
  const script = firstArgument(args);
  runScripts(scope, args.slice(script, script + 1));
};

/** Shell scripts. Those of the product itself are work. */
const runScripts = (scope: Scope, paths: readonly string[]): void => {
  for (const path of filesNamed(scope, paths)) {
    if (isSource(path)) continue;
    const text = scope.files.read(path) ?? '';
    scope.found(path);
    scope.follow(text, scope.cwd);
    scope.follow(text, posix.dirname(path));
  }
};

/** A file that is run as a program. */
const runFile = (scope: Scope, program: string): void => {
  for (const path of filesNamed(scope, [program])) {
    const isShell = /\.(?:ba|z|k)?sh$/.test(path) || /^#!.*\b(?:ba|da|z|k|a)?sh\b/.test(scope.files.read(path) ?? '');
    if (isShell) runScripts({ ...scope, cwd: '.' }, [path]);
    else if (isTool(path)) scope.found(path);
  }
};

/** `node scripts/verify.mjs`, but not `node src/app.js`; `python -m pytest`. */
const runInterpreter = (scope: Scope, all: readonly string[]): void => {
  const args = all[0] === 'run' ? all.slice(1) : all;
  const script = firstArgument(args);
  const module = args.indexOf('-m');
  if (module !== -1 && module < script) return runWords(scope, args.slice(module + 1));
  const named = args.slice(0, script + 1).filter((word) => isTool(posix.join(scope.cwd, word)));
  for (const path of filesNamed(scope, named)) if (isTool(path)) scope.found(path);
};

const toolFolders = /(?:^|\/)(?:scripts?|tools?|tooling|checks?|hack|\.?ci|\.github|\.gitlab|\.husky)\//;
const sourceFolders = /(?:^|\/)(?:src|lib|app|sources?)\//;
const toolNames = /^(?:check|verify|validate)(?:[-_.]|$)/;

const isSource = (path: string) => sourceFolders.test(path) && !toolFolders.test(path);
const isTool = (path: string) => toolFolders.test(path) || (!isSource(path) && toolNames.test(posix.basename(path)));

const runMake = (scope: Scope, args: readonly string[]): void => {
  const file = optionOf(args, ['-f', '--file', '--makefile']);
  const names = file === null ? ['GNUmakefile', 'makefile', 'Makefile'] : [file];
  runRules(inFolder(scope, optionOf(args, ['-C', '--directory']) ?? '.'), names, targetsIn(args));
};

/** An empty one stands for the first rule. */
const targetsIn = (args: readonly string[]): string[] => {
  const targets = args.filter((word, index) => !/^-|=/.test(word) && !takesValue.test(args[index - 1] ?? ''));
  return targets.length === 0 ? [''] : targets;
};

const runRules = (scope: Scope, names: readonly string[], targets: readonly string[]): void => {
  const path = names.map((name) => posix.join(scope.cwd, name)).find((name) => scope.files.read(name) !== null);
  if (path === undefined) return;
  const text = scope.files.read(path)!;
  for (const target of targets) {
    scope.found(partKey(path, `rule ${target}`));
    scope.follow(rulesOf(text, target).recipes, scope.cwd);
  }
};

/** The configuration that a runner of tests finds, and all that would come before it; none where there is none. */
const configure = (scope: Scope, program: string, args: readonly string[]): void => {
  const names = [`${program} ${args[0]}`, `${program}-${args[0]}`, program];
  const name = names.find((each) => Object.hasOwn(runners, each));
  if (name === undefined) return;
  const given = optionOf(args, ['--config', '-c', '--rcfile']);
  if (given !== null) filesNamed(scope, [given]).forEach((path) => scope.found(path));
  for (const folder of new Set([scope.cwd, '.'])) {
    const choices = runners[name]!.map((keys) => keys.map((key) => posix.join(folder, key)));
    const last = choices.findIndex((keys) => keys.some((key) => readDecider(key, scope.files) !== null));
    if (last === -1) continue;
    for (const key of choices.slice(0, last + 1).flat()) scope.found(key);
    return;
  }
};
