import { userError } from '../errors.ts';
import {
  canComeFrom,
  defaultOf,
  envOf,
  type Flag,
  flagNames,
  type FlagName,
  flagOf,
  flags,
  type Options,
  type FileSettings,
  type FlagValues,
} from './flags.ts';
import { checkRules } from './check-rules.ts';
import { describeTarget, withoutTokens } from './notify-targets.ts';
import { isItem, parseValue, type Value, expects } from './values.ts';
import type { Harness } from '../harness/harness.ts';
import { isPassName, type PassList } from '../process/passed-environment.ts';
import type { Project } from '../store/project.ts';
import { type Settings, type Config, noConfig, readConfig } from './file.ts';

/**
 * Flags as they were typed: text for those with a value, a list for repeatable ones, true or false for boolean ones.
 */
export type RawFlags = Readonly<Record<string, string | boolean | readonly string[]>>;

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

/**
 * Parses the flags of `spool ralph` among those that were typed. Needs no project, so a bad flag is reported anywhere.
 */
export const parseFlags = (raw: RawFlags): FlagValues =>
  Object.fromEntries(
    flagNames.flatMap((name) => {
      const typed = raw[name];
      return typed === undefined ? [] : [[name, parseFlag(name, typed)]];
    }),
  );

/**
 * Precedence, lowest to highest: defaults, .spool/config.json, its settings for the change, SPOOL_* variables, flags.
 */
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
  for (const name of ['allow', 'deny'] as const)
    await checkRules((given.get(name) ?? []) as readonly string[], (rule, problem) => {
      throw userError('bad-rule', name in sources.flagValues ? flagOf(name) : envOf(name), rule, problem);
    });
  const resolve = (special: FlagValues): Options => optionsOf(withRules(given, file), special, config);
  return {
    options: resolve({}),
    forChange: (id) => resolve(settingsFor(changes, id).values),
    fileFor: (id) => recorded({ ...written, ...settingsFor(changes, id).written }),
    changeKeys: [...changes.keys()],
    config: file,
    passLists: passListsOf(sources.env, file),
    customHarnesses,
    explicit: new Set(given.keys()),
  };
};

/** Adds the rules of the config file: unlike other settings, those of a flag do not replace them. */
const withRules = (
  given: ReadonlyMap<FlagName, Value>,
  { permissions }: Pick<Config, 'permissions'>,
): ReadonlyMap<FlagName, Value> =>
  new Map<FlagName, Value>([
    ...given,
    ...(['allow', 'deny'] as const).map((name): [FlagName, Value] => [
      name,
      [...new Set([...((given.get(name) ?? []) as readonly string[]), ...permissions[name]])],
    ]),
  ]);

/** What is recorded of the settings, without addresses of notifications. */
const recorded = (settings: FileSettings): FileSettings =>
  settings.notify === undefined ? settings : { ...settings, notify: withoutTokens(settings.notify) };

const optionsOf = (given: ReadonlyMap<FlagName, Value>, special: FlagValues, config: FlagValues): Options => {
  const values = new Map(
    flagNames.map((name) => [name, given.get(name) ?? special[name] ?? config[name] ?? defaultValue(flags[name])]),
  );
  return checked([...values, ...ladderOf([Object.fromEntries(given), special, config])]);
};

/**
 * The agents are those of --escalate or those of --harness and --model, whichever has the higher precedence. Those of a
 * ladder take the place of `harness`.
 */
const ladderOf = (levels: readonly FlagValues[]): (readonly [FlagName, Value | null])[] => {
  const { escalate, harness } =
    levels.find((level) => ['escalate', 'harness', 'model'].some((name) => name in level)) ?? {};
  if (escalate === undefined) return [['escalate', null]];
  if (harness !== undefined) throw userError('ladder-and-harness', String(escalate), String(harness));
  return [['harness', escalate]];
};

/** The options that the file alone sets, for all changes and for each that it names. Throws if two values conflict. */
export const optionsIn = ({ values, changes }: Config): Options[] =>
  [{}, ...[...changes.values()].map((special) => special.values)].map((special) =>
    optionsOf(new Map(), special, values),
  );

const settingsFor = (changes: Config['changes'], id: string): Settings =>
  changes.get(prefixFor(changes, id) ?? '') ?? noConfig;

/** The key of the settings of a change in the file: its ID or a prefix. The longest wins. */
export const prefixFor = (changes: Pick<ReadonlyMap<string, unknown>, 'keys'>, id: string): string | undefined =>
  [...changes.keys()].filter((prefix) => id.startsWith(prefix)).toSorted((a, b) => b.length - a.length)[0];

const checked = (entries: readonly (readonly [FlagName, Value | null])[]): Options => {
  const options = Object.freeze(Object.fromEntries(entries)) as Options;
  if (options.minIterations > options.maxIterations)
    throw userError('min-above-max', options.minIterations, options.maxIterations);
  if (options.completionPromise === options.blockedPromise) throw userError('same-promise', options.blockedPromise);
  return options;
};

const parseFlag = (name: FlagName, raw: RawFlags[string]): Value => {
  if (typeof raw === 'boolean') return raw;
  if (typeof raw === 'string') return parsed(name, flagOf(name), raw);
  if (['names', 'events'].includes(flags[name].kind)) return parsed(name, flagOf(name), raw.join(','));
  const bad = raw.find((each) => !isItem(flags[name].kind, each));
  if (bad !== undefined) throw badValue(name, flagOf(name), bad);
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
  if (value === null) throw badValue(name, where, raw);
  return value;
};

const badValue = (name: FlagName, where: string, raw: string) =>
  userError('bad-value', where, expects[flags[name].kind], name === 'notify' ? describeTarget(raw) : raw);

const defaultValue = (flag: Flag): Value | null => {
  const written = defaultOf(flag);
  return typeof written === 'string' ? parseValue(flag.kind, written) : written;
};

/** The lists from SPOOL_ENV_PASS and from the config file, if they are set. */
const passListsOf = (env: NodeJS.ProcessEnv, { pass }: Pick<Config, 'pass'>): PassList[] =>
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
