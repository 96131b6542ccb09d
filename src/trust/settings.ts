import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { agentsOf } from '../config/agents.ts';
import type { Config, OwnCommands } from '../config/file.ts';
import { systemProblem, userError } from '../errors.ts';
import { anyPath } from '../files/bytes.ts';
import { parseTarget } from '../config/notify-targets.ts';
import { homeOf } from '../files/home.ts';
import { readRegular } from '../files/regular.ts';
import type { Harness } from '../harness/harness.ts';
import type { Files } from '../guard/deciders/scope.ts';
import { filesAt } from '../guard/goal.ts';
import { currentScope } from '../process/scope.ts';
import type { Project } from '../store/project.ts';
import { commandLine } from '../text/shell-words.ts';
import { checksIn, filesIn, type Roots, type Scripts, scriptsIn } from './scripts.ts';

/** A part of a project that runs commands or extends permissions, and needs the trust of the user. */
export interface Setting {
  /** For example `config.json verify` or `./tools/agent`. */
  readonly source: string;
  /** The commands that it runs, as written. */
  readonly commands: readonly string[];
  /** `sha256:…` of its value. */
  readonly hash: string;
  /** The sources of the files that its commands name. */
  readonly files: readonly string[];
  /** Words of its commands that stand for unknown scripts, which the hash does not cover. */
  readonly unclear: readonly string[];
}

/** A setting of the config file that runs commands. */
export type CommandKey = 'harness' | 'escalate' | 'verify' | 'worktreeSetup' | 'notify' | 'review' | 'reviewPrompt';

const commandKeys: readonly CommandKey[] = [
  'harness',
  'escalate',
  'verify',
  'worktreeSetup',
  'notify',
  'review',
  'reviewPrompt',
];

export const includeSource = '.worktreeinclude';

/** `id` is a change for which the file has separate settings. */
export const sourceOf = (
  key: CommandKey | 'queue' | 'permissions.allow' | `harnesses.${string}`,
  id?: string,
): string => `config.json ${id === undefined ? '' : `changes.${id} `}${key}`;

/** Returns everything in a project that needs trust. */
export const settingsOf = (project: Project, config: Config): Setting[] => {
  const { settings, files } = withScripts(project, [
    ...commandsIn(project, config.customHarnesses, config),
    ...includeSettings(project),
    ...queueSettings(config),
    ...permissionSettings(config),
  ]);
  return [...settings, ...files];
};

/**
 * Returns the commands of a project and the files that they name in a worktree. Agents given by path are not run there.
 */
export const namedIn = (worktree: Project, config: Config): SettingsWithFiles => {
  const custom = config.customHarnesses.map((harness): Harness => {
    const program =
      harness.custom && isPath(harness.custom.command) ? { ...harness.custom, command: 'own' } : harness.custom;
    return program === undefined ? harness : { ...harness, custom: program };
  });
  return withScripts(worktree, commandsIn(worktree, custom, config));
};

interface SettingsWithFiles {
  readonly settings: readonly Setting[];
  readonly files: readonly Setting[];
}

const commandsIn = ({ root }: Project, custom: readonly Harness[], config: Config): Setting[] => {
  const files = filesAt(root, (path, error) => {
    throw userError('io', join(root, path), systemProblem(error));
  });
  const roots = { project: root, home: homeOf(currentScope().env) };
  const own = ownSettings(config, files, roots);
  return [
    ...configSettings(config, files, roots).filter(({ source }) => own.every((each) => each.source !== source)),
    ...own,
    ...custom.flatMap((harness) => harnessSettings(harness, files, roots)),
  ];
};

const withScripts = (project: Project, settings: readonly Setting[]): SettingsWithFiles => {
  const sources = [...new Set(settings.flatMap((setting) => setting.files))];
  return { settings, files: sources.flatMap((source) => fileSettings(project, source)) };
};

const isPath = (command: string) => /[\\/]/.test(command);

/** Returns the needed settings and the files that their commands name. */
export const withFiles = (settings: readonly Setting[], needed: ReadonlySet<string>): Setting[] => {
  const direct = settings.filter(({ source }) => needed.has(source));
  const files = new Set(direct.flatMap((setting) => setting.files));
  return settings.filter((setting) => direct.includes(setting) || files.has(setting.source));
};

/** Returns a hash of all these settings. */
export const hashOfAll = (settings: readonly Setting[]): string =>
  hashOf(settings.map(({ source, hash }) => [source, hash]).toSorted());

const configSettings = ({ values, changes, customHarnesses: custom }: Config, files: Files, roots: Roots): Setting[] =>
  [[undefined, values] as const, ...[...changes].map(([id, special]) => [id, special.values] as const)].flatMap(
    ([id, part]) =>
      commandKeys.flatMap((key) => {
        const value = part[key];
        const commands = isAgents(key) ? customIn(String(value ?? ''), custom) : listOf(value);
        if (commands.length === 0) return [];
        const named = scriptLines(key, commands).map((command) => namedBy(key, command, { files, roots }));
        return [{ source: sourceOf(key, id), commands, hash: hashOfCommands(commands), ...mergeScripts(named) }];
      }),
  );

const ownSettings = (
  { ownVerify = new Map(), scenarioVerify = new Map() }: Config,
  files: Files,
  roots: Roots,
): Setting[] =>
  [...ownVerify.values(), ...scenarioVerify.values()].map(({ source, commands }: OwnCommands) => ({
    source,
    commands,
    hash: hashOfCommands(commands),
    ...mergeScripts(commands.map((command) => checksIn(command, files, roots))),
  }));

/** The values that are shell commands. */
const scriptLines = (key: CommandKey, commands: readonly string[]): readonly string[] => {
  if (isAgents(key) || key === 'review' || key === 'reviewPrompt') return [];
  return key === 'notify' ? commands.filter((target) => parseTarget(target)?.kind === 'command') : commands;
};

const isAgents = (key: CommandKey): boolean => key === 'harness' || key === 'escalate';

/** Returns the custom agents: `mine:some/model,opencode` → `mine`. */
const customIn = (harness: string, custom: readonly Harness[]): string[] => {
  const names = agentsOf({ harness, model: null }).map((agent) => agent.harness);
  return names.filter((name) => custom.some((each) => each.name === name));
};

const listOf = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'string' ? [value] : [];
};

const namedBy = (
  key: CommandKey,
  command: string,
  { files, roots }: { readonly files: Files; readonly roots: Roots },
): Scripts => (key === 'verify' ? checksIn : scriptsIn)(command, files, roots);

const mergeScripts = (named: readonly Scripts[]): Pick<Setting, 'files' | 'unclear'> => ({
  files: [...new Set(named.flatMap((each) => each.files))].map(fileSource),
  unclear: [...new Set(named.flatMap((each) => each.unclear))],
});

const harnessSettings = ({ name, custom }: Harness, files: Files, roots: Roots): Setting[] => {
  if (custom === undefined) return [];
  const { command, args, allowAllArgs, acp } = custom;
  const program = isPath(command) ? [command] : [];
  const words = [command, ...args, ...allowAllArgs];
  const named = { files: filesIn([...program, ...args, ...allowAllArgs], files, roots), unclear: [] };
  return [
    {
      source: sourceOf(`harnesses.${name}`),
      commands: [
        commandLine(command, ...args),
        ...(allowAllArgs.length ? [`with --allow-all: ${commandLine(...allowAllArgs)}`] : []),
        ...(acp ? acpLines(acp) : []),
      ],
      hash: hashOf({ command, args, allowAllArgs, ...(acp && { acp }) }),
      ...mergeScripts([named, scriptsIn(commandLine(...words), files, roots)]),
    },
  ];
};

/** What can change how an agent works. */
const acpLines = ({ env, mode }: NonNullable<NonNullable<Harness['custom']>['acp']>): string[] => [
  ...Object.entries(env).map(([name, value]) => `with ${name}=${commandLine(value)}`),
  ...(mode === null ? [] : [`in its mode ${commandLine(mode)}`]),
];

/** Names the server that this machine sends texts to, and from which it learns what to land. */
const queueSettings = ({ queue }: Config): Setting[] =>
  queue === null
    ? []
    : [{ source: sourceOf('queue'), commands: [queue], hash: hashOfCommands([queue]), files: [], unclear: [] }];

/** Lets agents do more. Rules that deny something need no trust. */
const permissionSettings = ({ permissions: { allow } }: Config): Setting[] =>
  allow.length === 0
    ? []
    : [
        {
          source: sourceOf('permissions.allow'),
          commands: allow,
          hash: hashOfCommands(allow),
          files: [],
          unclear: [],
        },
      ];

/** Names ignored files, possibly secrets, that are copied to where an agent works. */
const includeSettings = (project: Project): Setting[] => {
  const text = read(project, includeSource)?.toString('utf8');
  const names = (text ?? '').split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  return names.length === 0
    ? []
    : [{ source: includeSource, commands: names, hash: hashOf(names), files: [], unclear: [] }];
};

const fileSource = (path: string) => `./${path}`;

const fileSettings = (project: Project, source: string): Setting[] => {
  const bytes = read(project, source);
  if (bytes === null) return [];
  const hash = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return [{ source, commands: [`${bytes.length} bytes, ${hash}`], hash, files: [], unclear: [] }];
};

/** No program in a project is larger. */
const maxBytes = 64 * 1024 * 1024;

const read = (project: Project, source: string): Buffer | null => {
  const path = join(project.root, source);
  const size = statSync(anyPath(path), { throwIfNoEntry: false })?.size ?? 0;
  if (size > maxBytes) throw userError('too-large', path, maxBytes);
  return readRegular(anyPath(path));
};

/** The hash of a setting that is a list of commands. */
export const hashOfCommands = (commands: readonly string[]): string => hashOf(commands);

const hashOf = (value: unknown): string => `sha256:${createHash('sha256').update(canonical(value)).digest('hex')}`;

/** Returns JSON that does not depend on the order of keys. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
};
