import { relative } from 'node:path';
import { systemProblem, UserError, userError } from '../errors.ts';
import {
  canComeFrom,
  configKeys,
  envOf,
  type Flag,
  flagNames,
  type FlagName,
  flagOf,
  flags,
  isNegated,
  isRepeatable,
  type Options,
} from './flags.ts';
import { parseValue, type Value, expects } from './values.ts';
import { closest } from '../text/closest.ts';
import type { Harness } from '../harness/harness.ts';
import { parseJsonText } from '../text/json.ts';
import { isPassName, type PassList } from '../process/passed-environment.ts';
import { readIfThere } from '../files/read.ts';
import { type Project } from '../store/project.ts';
import { configFile } from '../store/paths.ts';

/** Flags as they were typed: text for those with a value, a list for repeatable ones, true or false for boolean ones. */
export type RawFlags = Readonly<Record<string, string | boolean | readonly string[]>>;

/** The flags of a command line, parsed. */
export type FlagValues = Readonly<Partial<Record<FlagName, Value>>>;

export interface Resolved {
  readonly options: Options;
  /** The options with the settings that the config file has for this change. */
  readonly forChange: (id: string) => Options;
  /** The IDs for which the config file has settings. */
  readonly changeKeys: readonly string[];
  /** Agents that the config file declares. */
  readonly customHarnesses: readonly Harness[];
  /** What the user set by flag or variable. */
  readonly explicit: ReadonlySet<FlagName>;
  /** The settings of the config file that apply to a change, unparsed. */
  readonly fileFor: (id: string) => FileSettings;
  readonly config: Config;
  /** Limits on the environment of agents and commands: from SPOOL_ENV_PASS, from the config file, both or neither. */
  readonly passLists: readonly PassList[];
}

export type FileSettings = Readonly<Partial<Record<FlagName, unknown>>>;

/** Parses the flags of `spool ralph` among those that were typed. Needs no project, so a bad flag is reported anywhere. */
export const parseFlags = (raw: RawFlags): FlagValues =>
  Object.fromEntries(
    flagNames.flatMap((name) => {
      const typed = raw[name];
      return typed === undefined ? [] : [[name, parseFlag(name, typed)]];
    }),
  );

/** Precedence, lowest to highest: defaults, .spool/config.json, its settings for the change, SPOOL_* variables, flags. */
export const resolveOptions = async (sources: {
  flagValues: FlagValues;
  env: NodeJS.ProcessEnv;
  project: Project | null;
}): Promise<Resolved> => {
  const file = sources.project ? await readConfig(sources.project) : noConfig;
  const { values: config, written, changes, customHarnesses } = file;
  const given = new Map(
    flagNames.flatMap((name) => {
      const value = sources.flagValues[name] ?? fromEnv(name, sources.env);
      return value === null ? [] : [[name, value]];
    }),
  );
  const resolve = (special: FlagValues): Options => optionsOf(given, special, config);
  return {
    options: resolve({}),
    forChange: (id) => resolve(settingsFor(changes, id).values),
    fileFor: (id) => ({ ...written, ...settingsFor(changes, id).written }),
    changeKeys: [...changes.keys()],
    config: file,
    passLists: passListsOf(sources.env, file),
    customHarnesses,
    explicit: new Set(given.keys()),
  };
};

const optionsOf = (given: ReadonlyMap<FlagName, Value>, special: FlagValues, config: FlagValues): Options =>
  checked(flagNames.map((name) => [name, given.get(name) ?? special[name] ?? config[name] ?? defaultOf(flags[name])]));

/** The options that the file alone sets, for all changes and for each that it names. Throws if two values conflict. */
export const optionsIn = ({ values, changes }: Config): Options[] =>
  [{}, ...[...changes.values()].map((special) => special.values)].map((special) =>
    optionsOf(new Map(), special, values),
  );

const settingsFor = (changes: Config['changes'], id: string): Settings =>
  changes.get(prefixFor(changes, id) ?? '') ?? noConfig;

/** The key under which the file has the settings of a change: its ID or a prefix of it. The longest wins. */
export const prefixFor = (changes: Pick<ReadonlyMap<string, unknown>, 'keys'>, id: string): string | undefined =>
  [...changes.keys()].filter((prefix) => id.startsWith(prefix)).toSorted((a, b) => b.length - a.length)[0];

const checked = (entries: readonly (readonly [FlagName, Value | null])[]): Options => {
  const options = Object.freeze(Object.fromEntries(entries)) as Options;
  if (options.minIterations > options.maxIterations)
    throw userError('min-above-max', options.minIterations, options.maxIterations);
  for (const name of ['iterationTimeout', 'idleTimeout', 'verifyTimeout'] as const)
    if (options[name] === 0) throw userError('bad-value', flagOf(name), 'must be a duration above zero', '0');
  if (options.completionPromise === options.blockedPromise) throw userError('same-promise', options.blockedPromise);
  return options;
};

const parseFlag = (name: FlagName, raw: RawFlags[string]): Value => {
  if (typeof raw === 'boolean') return raw;
  if (typeof raw === 'string') return parsed(name, flagOf(name), raw);
  if (flags[name].kind === 'names') return parsed(name, flagOf(name), raw.join(','));
  if (raw.some((command) => command.trim() === ''))
    throw userError('bad-value', flagOf(name), expects[flags[name].kind], '');
  return raw;
};

const fromEnv = (name: FlagName, env: NodeJS.ProcessEnv): Value | null => {
  const raw = env[envOf(name)];
  if (!raw || !canComeFrom('env', name)) return null;
  return parsed(name, envOf(name), raw);
};

const parsed = (name: FlagName, where: string, raw: string): Value => {
  const { kind } = flags[name];
  const value = parseValue(kind, raw);
  if (value === null) throw userError('bad-value', where, expects[kind], raw);
  return value;
};

const defaultOf = (flag: Flag): Value | null => {
  if (flag.kind === 'boolean') return isNegated(flag);
  if (isRepeatable(flag)) return [];
  return typeof flag.default === 'string' ? parseValue(flag.kind, flag.default) : null;
};

interface Settings {
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
}

const noConfig: Config = { values: {}, written: {}, changes: new Map(), customHarnesses: [], pass: null };

/** In bytes. Enough for the settings of thousands of changes. */
const maxConfigBytes = 1024 * 1024;

export const readConfig = async (project: Project): Promise<Config> => {
  const text = await readConfigText(project);
  return text === null ? noConfig : configIn(project, text);
};

/** Returns null if there is no file. */
export const readConfigText = (project: Project): Promise<string | null> =>
  readIfThere(configFile(project), maxConfigBytes).catch((error: unknown) => {
    if (error instanceof UserError) throw error;
    throw userError('bad-config', configName(project), systemProblem(error));
  });

/** The name of the file in messages. */
export const configName = (project: Project): string => relative(project.root, configFile(project));

/** Parses a text as the config file of a project. */
export const configIn = async (project: Project, text: string): Promise<Config> => {
  const file = configName(project);
  const { $schema: _, harnesses: declared, changes = {}, worktree, env, ...others } = parseJson(text, file);
  const rest = worktree === undefined ? others : { ...others, worktreeSetup: setupIn(file, worktree) };
  if (!isObject(changes))
    throw userError('bad-config', file, '"changes" must be an object that maps change IDs to settings');
  return {
    values: configValues(file, rest),
    written: rest,
    changes: new Map(Object.entries(changes).map(([id, value]) => [id, settingsOf(file, id, value)])),
    pass: env === undefined ? null : passIn(file, env),
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

/** The lists from SPOOL_ENV_PASS and from the config file, if they are set. */
export const passListsOf = (env: NodeJS.ProcessEnv, { pass }: Pick<Config, 'pass'>): PassList[] =>
  [passListIn(env), pass].filter((list) => list !== null);

const passVariable = 'SPOOL_ENV_PASS';

const passListIn = (env: NodeJS.ProcessEnv): PassList | null => {
  const raw = env[passVariable];
  if (!raw) return null;
  const names = raw.split(',').map((name) => name.trim());
  const bad = names.find((name) => !isPassName(name));
  if (bad !== undefined)
    throw userError('bad-value', passVariable, 'must be variable names such as CI or AWS_*, separated by commas', bad);
  return names;
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

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const parseJson = (text: string, file: string): Record<string, unknown> => {
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

const configValue = (file: string, key: string, value: unknown): Value => {
  const name = configKeys.find((known) => known === key);
  if (!name) {
    const keys = [...configKeys, 'changes', 'env', 'harnesses'];
    const flag = flagNames.find((known) => known === key);
    if (flag)
      throw userError('bad-config', file, `"${key}" cannot be set in this file; pass ${flagOf(flag)} to each run`);
    const near = closest(key, keys);
    const hint = near ? ` (did you mean "${near}"?)` : `. Keys: ${keys.join(', ')}`;
    throw userError('bad-config', file, `unknown key "${key}"${hint}`);
  }
  const { kind } = flags[name];
  if (kind === 'commands' && Array.isArray(value) && value.every((item) => isText(item) && item.trim() !== ''))
    return value;
  const wellTyped = kind === 'boolean' ? typeof value === 'boolean' : isText(value) || typeof value === 'number';
  const result = wellTyped ? parseValue(kind, String(value)) : null;
  if (result === null) throw userError('bad-config', file, `"${key}" ${expects[kind]}, not ${JSON.stringify(value)}`);
  return result;
};

const isText = (value: unknown): value is string => typeof value === 'string';
