import { relative } from 'node:path';
import { systemProblem, UserError, userError } from '../errors.ts';
import { checkRules } from './check-rules.ts';
import {
  configKeys,
  type Flag,
  type FlagName,
  flagNames,
  flagOf,
  flags,
  type FileSettings,
  type FlagValues,
} from './flags.ts';
import { withoutTokens } from './notify-targets.ts';
import { isItem, isNumeric, parseValue, type Value, expects } from './values.ts';
import { closest } from '../text/closest.ts';
import { sourcesProblem } from '../changes/folders.ts';
import type { Harness } from '../harness/harness.ts';
import { parseJsonText } from '../text/json.ts';
import { isPassName, type PassList } from '../process/passed-environment.ts';
import { readText } from '../files/read.ts';
import type { Project } from '../store/project.ts';
import { configFile } from '../store/paths.ts';
import { isObject } from '../text/shape.ts';

export interface Settings {
  readonly values: FlagValues;
  /** The values as they are written in the file. */
  readonly written: FileSettings;
}

/** The content of .spool/config.json. */
export interface Config extends Settings {
  /** `env.pass`; null if it is not set. */
  readonly pass: PassList | null;
  readonly changes: ReadonlyMap<string, Settings>;
  readonly customHarnesses: readonly Harness[];
  /** `permissions`: the rules for all changes. Those that allow something count only if the user trusts them. */
  readonly permissions: PermissionTexts;
  /** The address of the queue, which counts only if the user trusts it; null if it is not set. */
  readonly queue: string | null;
  /**
   * Verify commands of changes, by ID, that are not in config.json: in the task file, or in the project when a run of the
   * change began.
   */
  readonly ownVerify?: ReadonlyMap<string, OwnCommands>;
  /** The `**Verify**:` commands of the scenarios of changes that must be proven, by the ID of the change. */
  readonly scenarioVerify?: ReadonlyMap<string, OwnCommands>;
}

/** Permission rules as they are written. */
interface PermissionTexts {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

export interface OwnCommands {
  /** What they are trusted as: `task file docs/plan.md`, `config.json verify`, `scenarios of 002-01_login`. */
  readonly source: string;
  readonly commands: readonly string[];
}

export const noConfig: Config = {
  values: {},
  written: {},
  changes: new Map(),
  customHarnesses: [],
  pass: null,
  permissions: { allow: [], deny: [] },
  queue: null,
};

/** In bytes. Enough for the settings of thousands of changes. */
const maxConfigBytes = 1024 * 1024;

export const readConfig = async (project: Project): Promise<Config> => {
  const text = readConfigText(project);
  return text === null ? noConfig : configIn(project, text);
};

/** Returns null if there is no file. */
export const readConfigText = (project: Project): string | null => {
  try {
    return readText(configFile(project), maxConfigBytes);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw userError('bad-config', configName(project), systemProblem(error));
  }
};

/** The name of the file in messages. */
export const configName = (project: Project): string => relative(project.root, configFile(project));

/** Parses a text as the config file of a project. */
export const configIn = async (project: Project, text: string): Promise<Config> => {
  const file = configName(project);
  const {
    $schema: _,
    harnesses: declared,
    changes = {},
    worktree,
    env,
    permissions,
    sources,
    queue,
    ...others
  } = parseConfigJson(text, file);
  const problem = sourcesProblem(sources);
  if (problem !== null) throw userError('bad-config', file, problem);
  const rest = worktree === undefined ? others : { ...others, worktreeSetup: setupIn(file, worktree) };
  if (!isObject(changes))
    throw userError('bad-config', file, '"changes" must be an object that maps change IDs to settings');
  return {
    values: configValues(file, rest),
    written: rest,
    changes: new Map(Object.entries(changes).map(([id, value]) => [id, settingsOf(file, id, value)])),
    pass: env === undefined ? null : passIn(file, env),
    permissions: await permissionsIn(file, permissions ?? {}),
    queue: queue === undefined ? null : queueIn(file, queue),
    customHarnesses: declared === undefined ? [] : await loadCustomHarnesses(declared, { root: project.root, file }),
  };
};

/** The registry is imported only if the file declares agents: most commands need none. */
const loadCustomHarnesses = async (
  declared: unknown,
  source: { root: string; file: string },
): Promise<readonly Harness[]> => {
  const [{ harnesses }, { readCustomHarnesses }] = await Promise.all([
    import('../harness/registry.ts'),
    import('./custom-harness.ts'),
  ]);
  return readCustomHarnesses(declared, harnesses, source);
};

/** `"env": { "pass": ["CI", "AWS_*"] }` */
const passIn = (file: string, env: unknown): PassList => {
  if (!isObject(env) || Object.keys(env).join() !== 'pass')
    throw userError('bad-config', file, '"env" must be an object with "pass"');
  const { pass } = env;
  const bad = Array.isArray(pass) ? pass.find((each) => !isPassName(each)) : pass;
  if (!Array.isArray(pass) || bad !== undefined)
    throw userError(
      'bad-config',
      file,
      `"env.pass" must be a list of variable names such as "CI" or "AWS_*", not ${JSON.stringify(bad) ?? 'nothing'}`,
    );
  return pass;
};

/** `"permissions": { "allow": ["Bash(npm test:*)"], "deny": ["Edit(.env)"] }` */
const permissionsIn = async (file: string, value: unknown): Promise<PermissionTexts> => {
  if (!isObject(value) || Object.keys(value).some((key) => key !== 'allow' && key !== 'deny'))
    throw userError('bad-config', file, '"permissions" must be an object with "allow" and "deny"');
  const rulesOf = async (key: keyof PermissionTexts): Promise<readonly string[]> => {
    const { [key]: list = [] } = value;
    if (!Array.isArray(list) || !list.every(isText))
      throw userError('bad-config', file, `"permissions.${key}" must be a list of rules such as "Bash(npm test:*)"`);
    await checkRules(list, (rule, problem) => {
      throw userError('bad-config', file, `the rule ${JSON.stringify(rule)} in "permissions.${key}" ${problem}`);
    });
    return list;
  };
  return { allow: await rulesOf('allow'), deny: await rulesOf('deny') };
};

/** `"queue": "postgres://spool@db.example.com/spool"`. The file is shared, so it must not contain a password. */
const queueIn = (file: string, value: unknown): string => {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol))
    throw userError('bad-config', file, '"queue" must be an address such as postgres://user@host:5432/database');
  if (url.password !== '' || [...url.searchParams.keys()].some((name) => /pass/i.test(name)))
    throw userError('bad-config', file, '"queue" must not contain a password: set PGPASSWORD, or use a password file');
  return url.href;
};

/** `"worktree": { "setup": "npm ci" }` is the same as `"worktreeSetup": "npm ci"`. */
const setupIn = (file: string, worktree: unknown): unknown => {
  if (isObject(worktree) && Object.keys(worktree).every((key) => key === 'setup')) return worktree.setup;
  throw userError('bad-config', file, '"worktree" must be an object with "setup"');
};

const settingsOf = (file: string, id: string, value: unknown): Settings => {
  if (!isObject(value)) throw userError('bad-config', file, `"changes.${id}" must be an object with settings`);
  return { values: configValues(file, value), written: value };
};

const configValues = (file: string, values: Readonly<Record<string, unknown>>): FlagValues =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, configValue(file, key, value)]));

export const parseConfigJson = (text: string, file: string): Record<string, unknown> => {
  try {
    const value: unknown = parseJsonText(text.replace(/^\uFEFF/, ''));
    if (isObject(value)) return value;
  } catch (error) {
    // Node quotes the text around the error, which may be a part of a secret.
    const problem = (error as Error).message.split(', ')[0]!;
    throw userError('bad-config', file, `not valid JSON (${problem})`);
  }
  throw userError('bad-config', file, 'must contain a JSON object');
};

const aliasesOf = (name: FlagName): readonly string[] => (flags[name] as Flag).aliases ?? [];

const configValue = (file: string, key: string, value: unknown): Value => {
  const name = configKeys.find((known) => known === key);
  if (!name) {
    const keys = [...configKeys, 'changes', 'env', 'harnesses', 'permissions', 'queue', 'sources'];
    const flag = flagNames.find((known) => known === key);
    if (flag)
      throw userError('bad-config', file, `"${key}" cannot be set in this file; pass ${flagOf(flag)} to each run`);
    const near = flagNames.find((known) => aliasesOf(known).includes(key)) ?? closest(key, keys);
    const hint = near ? ` (did you mean "${near}"?)` : `. Keys: ${keys.join(', ')}`;
    throw userError('bad-config', file, `unknown key "${key}"${hint}`);
  }
  const { kind } = flags[name];
  const isList = (kind === 'commands' || kind === 'notifications') && Array.isArray(value);
  if (isList && value.every((item) => isText(item) && isItem(kind, item))) return value;
  if ((kind === 'names' || kind === 'events') && Array.isArray(value) && value.every(isText))
    return configValue(file, key, value.join(','));
  const hasType =
    kind === 'boolean' ? typeof value === 'boolean' : isText(value) || (isNumeric(kind) && isNumber(value));
  const result = hasType ? parseValue(kind, String(value)) : null;
  const shown = kind === 'notifications' ? withoutTokens(value) : value;
  if (result === null) throw userError('bad-config', file, `"${key}" ${expects[kind]}, not ${jsonOf(shown)}`);
  return result;
};

const isText = (value: unknown): value is string => typeof value === 'string';

const isNumber = (value: unknown): value is number => typeof value === 'number';

/** `1e400` is read as Infinity, which JSON cannot express. */
const jsonOf = (value: unknown): string =>
  isNumber(value) && !Number.isFinite(value) ? String(value) : JSON.stringify(value);
