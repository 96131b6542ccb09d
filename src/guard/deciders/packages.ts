import { posix } from 'node:path';
import { parseJsonObject, partKey } from './parts.ts';
import { expand, fitting, inFolder, isOption, optionOf, followWords, type Scope } from './scope.ts';

export type Manager = 'npm' | 'pnpm' | 'yarn' | 'bun';

export const isManager = (program: string): program is Manager => /^(?:npm|pnpm|yarn|bun)$/.test(program);

const folderOptions = ['-C', '--dir', '--prefix', '--cwd'];
const takesFolder = new Set([...folderOptions, '-w', '--workspace', '-F', '--filter']);

/**
 * Follows what npm, pnpm, yarn or bun run: scripts of one package or of all packages in a workspace, or an installed
 * program. Returns false if it is none of these.
 */
export const followManager = (around: Scope, manager: Manager, args: readonly string[]): boolean => {
  const scope = inFolder(around, optionOf(args, folderOptions) ?? '.');
  const inWorkspaces = args.some((word) => /^(?:-r|--recursive|-ws?|--workspaces?|-F|--filter)(?:=|$)/.test(word));
  const everywhere = inWorkspaces || settingsAt(scope).some((text) => selectsWorkspaces.test(text));
  const words = args.filter((word, index) => !isOption(word) && !takesFolder.has(args[index - 1] ?? ''));
  const [verb = '', ...rest] = words;
  const run = (name = '') => (everywhere ? followEverywhere(scope, [name]) : followScript(scope, name));
  const hasScript = (name = '') => Object.hasOwn(scriptsAt(scope, scope.cwd), name);
  if (/^(?:exec|x|dlx)$/.test(verb)) {
    noteSettings(scope);
    followWords(
      scope,
      args.slice(args.indexOf(verb) + 1).filter((word) => word !== '--'),
    );
    return true;
  }
  if (/^workspaces?$/.test(verb)) {
    followEverywhere(scope, rest.filter((word) => word !== 'run').slice(verb === 'workspace' ? 1 : 0));
    return true;
  }
  const name = nameOf(manager, words);
  if (everywhere || hasScript(name)) {
    run(name);
    return true;
  }
  if ((manager === 'pnpm' || manager === 'yarn') && verb !== 'run') followWords(scope, args.slice(args.indexOf(verb)));
  return manager !== 'bun';
};

/** The name of the script that runs, or an empty string. `bun test` is a test runner, not a script. */
const nameOf = (manager: Manager, [verb = '', name = '']: readonly string[]): string => {
  if (/^(?:run|run-script|rum|urn)$/.test(verb)) return name;
  if (manager === 'bun') return verb === 'test' ? '' : verb;
  if (manager !== 'yarn' && /^(?:t|tst)$/.test(verb)) return 'test';
  return manager === 'npm' && !/^(?:test|start|stop|restart)$/.test(verb) ? '' : verb;
};

const packageAt = (folder: string) => posix.join(folder, 'package.json');

const scriptsAt = ({ files }: Scope, folder: string): Readonly<Record<string, unknown>> => {
  const scripts = parseJsonObject(files.read(packageAt(folder)) ?? '')?.scripts;
  return scripts && typeof scripts === 'object' ? (scripts as Record<string, unknown>) : {};
};

/** Follows a script with its pre and post scripts. A script that does not exist yet is work. */
export const followScript = (scope: Scope, name: string, folder = scope.cwd): void => {
  const scripts = scriptsAt(scope, folder);
  if (!Object.hasOwn(scripts, name)) return;
  noteSettings(scope, folder);
  for (const each of [`pre${name}`, name, `post${name}`]) {
    scope.found(partKey(packageAt(folder), `scripts.${each}`));
    if (typeof scripts[each] === 'string') scope.follow(scripts[each], folder);
  }
};

/** They can set the shell that runs scripts, choose other scripts, or replace the package manager. */
const settingsFiles = ['.npmrc', '.yarnrc', '.yarnrc.yml', 'pnpm-workspace.yaml', 'bunfig.toml'];

/** The settings of a package manager decide the scripts and programs that it runs in a folder. */
export const noteSettings = (scope: Scope, folder = scope.cwd): void => {
  for (const path of settingsPaths(folder)) scope.found(partKey(path, 'shell settings'));
};

const settingsAt = ({ files, cwd }: Scope): string[] => settingsPaths(cwd).map((path) => files.read(path) ?? '');

const settingsPaths = (folder: string): string[] =>
  [...new Set([folder, '.'])].flatMap((at) => settingsFiles.map((file) => posix.join(at, file)));

const selectsWorkspaces = /^[ \t]*["']?(?:workspaces?|recursive|filter)(?:\[\])?["']?[ \t]*(?:[:=]|$)/im;

/** `run-s build "test:*"` */
export const followScriptsNamed = (scope: Scope, patterns: readonly string[]): void => {
  for (const pattern of patterns.filter((word) => !isOption(word)))
    for (const name of Object.keys(scriptsAt(scope, scope.cwd)).filter(fitting(pattern))) followScript(scope, name);
};

/** `concurrently "npm:test:*" "sh check.sh"` */
export const followConcurrently = (scope: Scope, args: readonly string[]): void => {
  for (const word of args.filter((each) => !isOption(each))) {
    const script = /^(?:npm|pnpm|yarn|bun):(.+)$/.exec(word)?.[1];
    if (script === undefined) scope.follow(word, scope.cwd, scope.wide);
    else followScriptsNamed(scope, [script]);
  }
};

/** Follows scripts with these names in all packages of a workspace. */
export const followEverywhere = (scope: Scope, names: readonly string[]): void => {
  scope.found(partKey(packageAt(scope.cwd), 'workspaces'));
  scope.found(partKey(posix.join(scope.cwd, 'pnpm-workspace.yaml'), 'packages:'));
  for (const folder of [scope.cwd, ...workspacesAt(scope)])
    for (const name of names.filter((word) => !isOption(word))) followScript(scope, name, folder);
};

const workspacesAt = ({ files, cwd }: Scope): string[] => {
  const { workspaces } = parseJsonObject(files.read(packageAt(cwd)) ?? '') ?? {};
  const listed: unknown = Array.isArray(workspaces)
    ? workspaces
    : (workspaces as { packages?: unknown } | null | undefined)?.packages;
  const yaml = files.read(posix.join(cwd, 'pnpm-workspace.yaml')) ?? '';
  const patterns = [
    ...(Array.isArray(listed) ? listed.filter((pattern) => typeof pattern === 'string') : []),
    ...[...yaml.matchAll(/^[ \t]*-[ \t]*['"]?([^'"\s#]+)/gm)].map(([, pattern = '']) => pattern),
  ];
  return patterns.flatMap((pattern) => expand(files, posix.join(cwd, pattern)));
};

/** Follows a command that is defined in a JSON file: `composer test`, `deno task check`. */
export const followNamed = (
  scope: Scope,
  args: readonly string[],
  [file, section]: readonly [string, string],
): void => {
  const name = args.find((word) => !/^(?:-.*|run|run-script)$/.test(word));
  const path = posix.join(scope.cwd, file);
  const texts = parseJsonObject(scope.files.read(path) ?? '')?.[section];
  if (name === undefined || !texts || typeof texts !== 'object' || !Object.hasOwn(texts, name)) return;
  scope.found(partKey(path, `${section}.${name}`));
  for (const text of [(texts as Record<string, unknown>)[name]].flat())
    if (typeof text === 'string') scope.follow(text, scope.cwd);
};
