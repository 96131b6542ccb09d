import { posix } from 'node:path';
import { isShell, shellNames } from '../../text/shell-names.ts';
import { followFind } from './find.ts';
import { entriesAt, importsOf } from './imports.ts';
import {
  isManager,
  followConcurrently,
  followEverywhere,
  followManager,
  followNamed,
  followScript,
  followScriptsNamed,
  noteSettings,
} from './packages.ts';
import { followMake, followRules, targetsIn } from './make.ts';
import { partOf, splitKey } from './parts.ts';
import { runners } from './runners.ts';
import {
  type Files,
  filesNamed,
  firstArgument,
  inFolders,
  isOption,
  noteUnclear,
  optionOf,
  followWords,
  type Scope,
  type Wide,
  type Words,
} from './scope.ts';
import { shellCommands } from './shell.ts';
import { walk } from './walk.ts';

/**
 * The keys of everything besides the work itself that decides whether these commands pass: the scripts and rules they
 * run, and the configuration of the test runners that those start. A source file that a command merely names is work
 * and not included; neither are files that do not exist yet.
 */
export const decidersOf = (commands: readonly string[], files: Files): string[] => collect(commands, { files });

/**
 * Every file that a command names and runs, or may run, including the work itself; with `deep`, also their deciders.
 */
export const filesRunBy = (command: string, { files, wide, deep }: Wanted & { readonly wide: Wide }): string[] =>
  collect([command], { files, wide, deep });

interface Wanted {
  readonly files: Files;
  readonly wide?: Wide;
  /** Whether to follow the scripts that a command runs. */
  readonly deep?: boolean | undefined;
}

const collect = (commands: readonly string[], { files, wide: asked, deep = true }: Wanted): string[] => {
  const found = new Set<string>();
  const seen = new Set<string>();
  const follow = (text: string, cwd: string, wide?: Wide): void => {
    const key = `${wide === undefined}\0${cwd}\0${text}`;
    if (seen.has(key) || text.length > maxScript || (wide === undefined && !deep)) return;
    seen.add(key);
    const folders = [...new Set([cwd, '.'])];
    walk(shellCommands(text), {
      files,
      cwd,
      start: cwd,
      folders,
      variables: new Map(),
      piped: [],
      wide,
      found: (each) => found.add(each),
      followProgram,
      follow,
    });
  };
  for (const command of commands) follow(command, '.', asked);
  return [...found];
};

/** Longer scripts are guarded but not followed. */
export const maxScript = 100_000;

/** The text of a key; null if it does not exist. */
export const readDecider = (key: string, files: Files): string | null => {
  const { path, part } = splitKey(key);
  const text = files.read(path);
  return text === null ? null : partOf(text, part);
};

const interpreters = /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy3?|ruby|perl|php|pwsh|Rscript|lua)$/;
const make = /^g?make$/;
const installed = /(?:^|\/)(?:node_modules\/\.bin|vendor\/bin|\.?venv\/bin)\//;
/** Programs that run the command after their own options. */
const wrappers =
  /^(?:env|exec|command|nice|nohup|sudo|timeout|xargs|stdbuf|xvfb-run|setsid|unbuffer|busybox|npx|bunx|pnpx|uvx|corepack|cross-env|c8|nyc)$/;
/** Programs that run the command after `--`. */
const dashed = /^(?:dotenv|dotenvx|doppler|op|infisical)$/;
/** Programs that run the command after a subcommand: `poetry run pytest`. */
const wrapping = /^(?:(?:uv|poetry|pipenv|pdm|hatch|rye) run|(?:bundle|mise) exec)$/;

const followProgram = ([path, ...args]: Words, scope: Scope): void => {
  const program = programOf(path);
  configure(scope, program, args);
  if (program.includes('/')) return followFile(scope, program);
  if (program === '.' || program === 'source') return followScripts(scope, args.slice(0, 1));
  if (isShell(program)) return followShell(scope, args);
  if (program === 'eval') return scope.follow(args.join(' '), scope.cwd, scope.wide);
  if (program === 'find') return followFind(scope, args);
  if (program === 'env') return followEnv(scope, args);
  if (/^(?:npx|pnpx|bunx)$/.test(program)) noteSettings(scope);
  if (wrappers.test(program)) return followRest(scope, args);
  if (dashed.test(program)) return followRest(scope, args.slice(args.indexOf('--') + 1));
  if (wrapping.test(`${program} ${args[0]}`)) return followRest(scope, args.slice(1));
  if (make.test(program)) return followMake(scope, args);
  if (program === 'just') return followRules(scope, ['justfile', 'Justfile', '.justfile'], targetsIn(args));
  if (program === 'composer') return followNamed(scope, args, ['composer.json', 'scripts']);
  if (program === 'deno' && args[0] === 'task')
    return ['deno.json', 'deno.jsonc'].forEach((file) => followNamed(scope, args.slice(1), [file, 'tasks']));
  if (isManager(program) && followManager(scope, program, args)) return;
  if (/^(?:run-[sp]|npm-run-all2?)$/.test(program)) return followScriptsNamed(scope, args);
  if (program === 'concurrently') return followConcurrently(scope, args);
  if (/^(?:turbo|lerna|nx)$/.test(program)) return followEverywhere(scope, args);
  if (program === 'node' && optionOf(args, ['--run']) !== null) return followScript(scope, optionOf(args, ['--run'])!);
  if (interpreters.test(program)) return followInterpreter(scope, args);
  if (program.startsWith('$')) {
    noteUnclear(scope, [program]);
    return followShell(scope, args);
  }
  // `flock /tmp/lock sh check.sh`
  const inner = args.findIndex((word) => runsScripts(posix.basename(word)));
  if (inner !== -1 && !prints.test(program)) followWords(scope, args.slice(inner));
};

const runsScripts = (name: string) => isShell(name) || interpreters.test(name);
const prints = /^(?:echo|printf|test|\[|which|type|hash|grep|pgrep|pkill|killall|man)$/;

/** `env -C tools CI=1 sh check.sh`, `env -S "sh check.sh"` */
const followEnv = (scope: Scope, args: readonly string[]): void => {
  const own = args.slice(0, firstArgument(args));
  const text = optionOf(own, ['-S', '--split-string']);
  if (text !== null) scope.follow(text, scope.cwd, scope.wide);
  const folder = optionOf(own, ['-C', '--chdir']);
  for (const each of folder === null ? [scope] : inFolders(scope, folder)) followRest(each, args);
};

/** The name of a program that is given as a path, or as a variable such as `$SHELL`. */
const programOf = (path: string): string => {
  const name = posix.basename(path);
  if (installed.test(path) || (/^[/~$]/.test(path) && isKnown(name))) return name;
  const variable =
    /^\$\{?(\w+)\}?$/
      .exec(path)?.[1]
      ?.toLowerCase()
      .replace(/^shell$/, 'sh') ?? '';
  return isKnown(variable) ? variable : path;
};

const isKnown = (name: string) =>
  isShell(name) ||
  [wrappers, dashed, interpreters, make].some((names) => names.test(name)) ||
  isManager(name) ||
  Object.hasOwn(runners, name);

/** Follows the command after the options of a wrapper. */
const followRest = (scope: Scope, args: readonly string[]): void => {
  const rest = args.slice(firstArgument(args));
  followWords(scope, /^[\d.]+[smhd]?$/.test(rest[0] ?? '') ? rest.slice(1) : rest);
};

const followShell = (scope: Scope, args: readonly string[]): void => {
  const text = args[args.findIndex((word) => /^-\w*c$/.test(word)) + 1];
  if (args.some((word) => /^-\w*c$/.test(word))) return scope.follow(text ?? '', scope.cwd, scope.wide);
  const script = args.includes('-s') ? undefined : args[firstArgument(args)];
  followScripts(scope, script === undefined || /^(?:\{\}|%)$/.test(script) ? scope.piped : [script]);
};

/** Follows shell scripts. Those among the sources are work. */
const followScripts = (scope: Scope, paths: readonly string[]): void => {
  noteUnclear(scope, paths);
  for (const path of filesNamed(scope, paths)) {
    if (isSource(path) && !scope.wide) continue;
    const text = scope.files.read(path) ?? '';
    scope.found(path);
    scope.follow(text, scope.cwd);
    scope.follow(text, posix.dirname(path));
  }
};

const shellFile = new RegExp(String.raw`\.${shellNames}$`);
const shellLine = new RegExp(String.raw`^#!.*\b${shellNames}\b`);

/** Follows a file that is run as a program. */
const followFile = (scope: Scope, program: string): void => {
  noteUnclear(scope, [program]);
  for (const path of filesNamed(scope, [program])) {
    const isScript = shellFile.test(path) || shellLine.test(scope.files.read(path) ?? '');
    if (isScript) followScripts({ ...scope, cwd: '.' }, [path]);
    else if (isTool(path) || scope.wide) followTool(scope, path);
  }
};

/** A script and the tools it imports. Sources that it imports are work. */
const followTool = (scope: Scope, path: string): void => {
  for (const each of importsOf(scope.files, path)) if (each === path || isTool(each)) scope.found(each);
};

/** `node scripts/verify.mjs`, but not `node src/app.js`; `python -m pytest`. */
const followInterpreter = (scope: Scope, all: readonly string[]): void => {
  const args = all[0] === 'run' ? all.slice(1) : all;
  const script = firstArgument(args);
  const module = args.indexOf('-m');
  if (module !== -1 && module < script) {
    followModule(scope, args[module + 1] ?? '');
    return followWords(scope, args.slice(module + 1));
  }
  if (scope.wide) return followAny(scope, args.slice(0, script + 2));
  const named = args.slice(0, script + 1).filter((word) => isTool(posix.join(scope.cwd, word)));
  for (const path of scriptsNamed(scope, named)) if (isTool(path)) followTool(scope, path);
};

/** `python -m tools.check`: the files of the module and of the packages around it, if they are in the project. */
const followModule = (scope: Scope, name: string): void => {
  const names = name.split('.').slice(0, 32);
  const paths = names.map((_, index) => posix.join(scope.cwd, ...names.slice(0, index + 1)));
  const files = [...paths.map((path) => `${path}/__init__.py`), ...entriesAt(scope.files, paths.at(-1) ?? '')];
  for (const path of files.filter((each) => scope.files.isFile(each)))
    if (isTool(path) || scope.wide) followTool(scope, path);
};

/** As an interpreter finds them: `tools/check` for `tools/check.js`. */
const scriptsNamed = (scope: Scope, words: readonly string[]): string[] =>
  words.flatMap((word) => {
    const files = filesNamed(scope, [word]);
    return files.length > 0 ? files : entriesAt(scope.files, posix.join(scope.cwd, word));
  });

/** An option may take the next word as its value, so each of the first words may be the script. */
const followAny = (scope: Scope, words: readonly string[]): void => {
  const named = words.filter((word) => !isOption(word));
  noteUnclear(scope, named.slice(0, 1));
  for (const path of scriptsNamed(scope, named)) followTool(scope, path);
};

const toolFolders = /(?:^|\/)(?:scripts?|tools?|tooling|checks?|hack|\.?ci|\.github|\.gitlab|\.husky)\//;
const sourceFolders = /(?:^|\/)(?:src|lib|app|sources?)\//;
const toolNames = /^(?:check|verify|validate)(?:[-_.]|$)/;

const isSource = (path: string) => sourceFolders.test(path) && !toolFolders.test(path);
const isTool = (path: string) => toolFolders.test(path) || (!isSource(path) && toolNames.test(posix.basename(path)));

/** The configuration that a test runner finds, and the files it would prefer if they existed. */
const configure = (scope: Scope, program: string, args: readonly string[]): void => {
  if (scope.wide) return;
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
