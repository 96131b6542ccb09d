import { relative } from 'node:path';
import { systemProblem, UserError, userError } from '../errors.ts';
import { configKeys, envOf, type Flag, flagNames, type FlagName, flagOf, flags, type Options } from './flags.ts';
import { parseValue, type Value, expects } from './values.ts';
import { closest } from '../text/closest.ts';
import type { Harness } from '../harness/harness.ts';
import { parseJsonText } from '../text/json.ts';
import { isPassName, type PassList } from '../process/passed-environment.ts';
import { readIfThere } from '../files/read.ts';
import { configFile, type Project } from '../store/project.ts';

/** Flags as they were typed: text for those with a value, a list where they repeat, true or false for switches. */
export type RawFlags = Readonly<Partial<Record<FlagName, string | boolean | readonly string[]>>>;

export interface Resolved {
  readonly options: Options;
  /** The same with what the config file says for this very change. */
  readonly forChange: (id: string) => Options;
  /** The ids under which the config file has settings. */
  readonly changeKeys: readonly string[];
  /** Agents that the config file declares. */
  readonly customHarnesses: readonly Harness[];
  /** What the user asked for in this very call, by flag or variable. */
  readonly explicit: ReadonlySet<FlagName>;
  /** What the config file says for a change, by key, as it is written there. */
  readonly fileFor: (id: string) => FileSettings;
  readonly config: Config;
  /** What limits the environment of agents and commands: the list of the user, that of the file, both or none. */
  readonly passLists: readonly PassList[];
}

export type FileSettings = Readonly<Partial<Record<FlagName, unknown>>>;

/** defaults < .spool/config.json < its part for the change < SPOOL_* < flags, each value checked where it came from. */
export const resolveOptions = async (sources: {
  typed: RawFlags;
  env: NodeJS.ProcessEnv;
  project: Project | null;
}): Promise<Resolved> => {
  const file = sources.project ? await readConfig(sources.project) : noConfig;
  const { values: config, written, changes, own } = file;
  const asked = new Map(
    flagNames.flatMap((name) => {
      const value = fromFlag(name, sources.typed) ?? fromEnv(name, sources.env);
      return value === null ? [] : [[name, value]];
    }),
  );
  const resolve = (special: ConfigValues): Options => optionsOf(asked, special, config);
  return {
    options: resolve({}),
    forChange: (id) => resolve(settingsFor(changes, id).values),
    fileFor: (id) => ({ ...written, ...settingsFor(changes, id).written }),
    changeKeys: [...changes.keys()],
    config: file,
    passLists: passListsOf(sources.env, file),
    customHarnesses: own,
    explicit: new Set(asked.keys()),
  };
};

const optionsOf = (asked: ReadonlyMap<FlagName, Value>, special: ConfigValues, config: ConfigValues): Options =>
  checked(flagNames.map((name) => [name, asked.get(name) ?? special[name] ?? config[name] ?? fallback(flags[name])]));

/** What the file alone comes to, for all changes and for each that it names. Throws where two values contradict each other. */
export const optionsIn = ({ values, changes }: Config): Options[] =>
  [{}, ...[...changes.values()].map((special) => special.values)].map((special) =>
    optionsOf(new Map(), special, values),
  );

const settingsFor = (changes: Config['changes'], id: string): Settings =>
  changes.get(prefixFor(changes, id) ?? '') ?? noConfig;

/** The key under which the file has settings of a change: its id, or a prefix of it; the longest wins. */
export const prefixFor = (changes: Pick<ReadonlyMap<string, unknown>, 'keys'>, id: string): string | undefined =>
  [...changes.keys()].filter((prefix) => id.startsWith(prefix)).toSorted((a, b) => b.length - a.length)[0];

const checked = (entries: readonly (readonly [FlagName, Value | null])[]): Options => {
  const options = Object.freeze(Object.fromEntries(entries)) as Options;
  if (options.minIterations > options.maxIterations)
    throw userError('min-above-max', options.minIterations, options.maxIterations);
  for (const name of ['iterationTimeout', 'idleTimeout', 'verifyTimeout'] as const)
    if (options[name] === 0) throw userError('bad-value', flagOf(name), 'takes a time above zero', '0');
  if (options.completionPromise === options.blockedPromise) throw userError('same-promise', options.blockedPromise);
  return options;
};

/** Checks what was typed on its own, so that a bad flag is named even outside a project. */
export const checkRawFlags = (typed: RawFlags): void => {
  for (const name of flagNames) fromFlag(name, typed);
};

const fromFlag = (name: FlagName, typed: RawFlags): Value | null => {
  const raw = typed[name];
  if (raw === undefined) return null;
  if (typeof raw === 'boolean') return raw;
  if (typeof raw === 'string') return parsed(name, flagOf(name), raw);
  if (flags[name].kind === 'names') return parsed(name, flagOf(name), raw.join(','));
  if (raw.some((command) => command.trim() === ''))
    throw userError('bad-value', flagOf(name), expects[flags[name].kind], '');
  return raw;
};

const fromEnv = (name: FlagName, env: NodeJS.ProcessEnv): Value | null => {
  const raw = env[envOf(name)];
  if (!raw || !flags[name].from.includes('env')) return null;
  return parsed(name, envOf(name), raw);
};

const parsed = (name: FlagName, where: string, raw: string): Value => {
  const { kind } = flags[name];
  const value = parseValue(kind, raw);
  if (value === null) throw userError('bad-value', where, expects[kind], raw);
  return value;
};

const fallback = (flag: Flag): Value | null => {
  if (flag.kind === 'switch') return flag.on ?? false;
  if (flag.kind === 'commands' || flag.kind === 'names') return [];
  return flag.fallback === undefined ? null : parseValue(flag.kind, flag.fallback);
};

type ConfigValues = Partial<Record<FlagName, Value>>;

interface Settings {
  readonly values: ConfigValues;
  /** The same as they stand in the file. */
  readonly written: FileSettings;
}

/** What the config file says. */
export interface Config extends Settings {
  /** `env.pass`; null when it is not there. */
  readonly pass: PassList | null;
  readonly changes: ReadonlyMap<string, Settings>;
  readonly own: readonly Harness[];
}

const noConfig: Config = { values: {}, written: {}, changes: new Map(), own: [], pass: null };

/** In bytes: settings of thousands of changes fit into it. */
const longestConfig = 1024 * 1024;

export const readConfig = async (project: Project): Promise<Config> => {
  const text = await readConfigText(project);
  return text === null ? noConfig : configIn(project, text);
};

/** null when there is no file. */
export const readConfigText = (project: Project): Promise<string | null> =>
  readIfThere(configFile(project), longestConfig).catch((error: unknown) => {
    if (error instanceof UserError) throw error;
    throw userError('bad-config', configName(project), systemProblem(error));
  });

/** As it is told to users. */
export const configName = (project: Project): string => relative(project.root, configFile(project));

/** What a text says as the config file of a project. */
export const configIn = async (project: Project, text: string): Promise<Config> => {
  const file = configName(project);
  const { $schema: _, harnesses: declared, changes = {}, worktree, env, ...others } = parseJson(text, file);
  const rest = worktree === undefined ? others : { ...others, worktreeSetup: setupIn(file, worktree) };
  if (!isObject(changes))
    throw userError('bad-config', file, '"changes" takes an object: an id, and settings, for each');
  return {
    values: configValues(file, rest),
    written: rest,
    changes: new Map(Object.entries(changes).map(([id, value]) => [id, settingsOf(file, id, value)])),
    pass: env === undefined ? null : passIn(file, env),
    own: declared === undefined ? [] : await ownHarnesses(declared, { root: project.root, file }),
  };
};

/** Loaded when there are some: most calls need no agent at all. */
const ownHarnesses = async (declared: unknown, place: { root: string; file: string }): Promise<readonly Harness[]> => {
  const [{ harnesses }, { readCustomHarnesses }] = await Promise.all([
    import('../harness/registry.ts'),
    import('./custom-harness.ts'),
  ]);
  return readCustomHarnesses(declared, harnesses, place);
};

/** `"env": { "pass": ["CI", "AWS_*"] }` */
const passIn = (file: string, env: unknown): PassList => {
  if (!isObject(env) || Object.keys(env).join() !== 'pass')
    throw userError('bad-config', file, '"env" takes an object with "pass"');
  const { pass } = env;
  const bad = Array.isArray(pass) ? pass.find((each) => !isPassName(each)) : pass;
  if (!Array.isArray(pass) || bad !== undefined)
    throw userError(
      'bad-config',
      file,
      `"env.pass" takes a list of names of variables, such as "CI" or "AWS_*", not ${JSON.stringify(bad) ?? 'nothing'}`,
    );
  return pass;
};

/** The lists of the user and of the project, as far as there are any. */
export const passListsOf = (env: NodeJS.ProcessEnv, { pass }: Pick<Config, 'pass'>): PassList[] =>
  [passListIn(env), pass].filter((list) => list !== null);

const passVariable = 'SPOOL_ENV_PASS';

const passListIn = (env: NodeJS.ProcessEnv): PassList | null => {
  const raw = env[passVariable];
  if (!raw) return null;
  const names = raw.split(',').map((name) => name.trim());
  const bad = names.find((name) => !isPassName(name));
  if (bad !== undefined)
    throw userError(
      'bad-value',
      passVariable,
      'takes names of variables, such as CI or AWS_*, separated by commas',
      bad,
    );
  return names;
};

/** `"worktree": { "setup": "npm ci" }` is the long way to write `"worktreeSetup": "npm ci"`. */
const setupIn = (file: string, worktree: unknown): unknown => {
  if (isObject(worktree) && Object.keys(worktree).every((key) => key === 'setup')) return worktree.setup;
  throw userError('bad-config', file, '"worktree" takes an object with "setup"');
};

const settingsOf = (file: string, id: string, value: unknown): Settings => {
  if (!isObject(value)) throw userError('bad-config', file, `"changes.${id}" takes an object with settings`);
  return { values: configValues(file, value), written: value };
};

const configValues = (file: string, values: Readonly<Record<string, unknown>>): ConfigValues =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, configValue(file, key, value)]));

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const parseJson = (text: string, file: string): Record<string, unknown> => {
  try {
    const value: unknown = parseJsonText(text.replace(/^\uFEFF/, ''));
    if (isObject(value)) return value;
  } catch (error) {
    throw userError('bad-config', file, `not valid JSON (${(error as Error).message})`);
  }
  throw userError('bad-config', file, 'must hold one JSON object');
};

const configValue = (file: string, key: string, value: unknown): Value => {
  const name = configKeys.find((known) => known === key);
  if (!name) {
    const keys = [...configKeys, 'changes', 'env', 'harnesses'];
    const flag = flagNames.find((known) => known === key);
    if (flag) throw userError('bad-config', file, `"${key}" cannot be set there; give ${flagOf(flag)} with each run`);
    const near = closest(key, keys);
    const hint = near ? ` (did you mean "${near}"?)` : `. Keys: ${keys.join(', ')}`;
    throw userError('bad-config', file, `unknown key "${key}"${hint}`);
  }
  const { kind } = flags[name];
  if (kind === 'commands' && Array.isArray(value) && value.every((item) => isText(item) && item.trim() !== ''))
    return value;
  const wellTyped = kind === 'switch' ? typeof value === 'boolean' : isText(value) || typeof value === 'number';
  const result = wellTyped ? parseValue(kind, String(value)) : null;
  if (result === null) throw userError('bad-config', file, `"${key}" ${expects[kind]}, not ${JSON.stringify(value)}`);
  return result;
};

const isText = (value: unknown): value is string => typeof value === 'string';
