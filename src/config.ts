import { relative } from 'node:path';
import { systemProblem, userError } from './errors.ts';
import {
  configKeys,
  envOf,
  type Flag,
  flagNames,
  type FlagName,
  flagOf,
  flags,
  type Options,
  parseValue,
  type Value,
  wanted,
} from './flags.ts';
import { closest } from './closest.ts';
import type { Harness } from './harness/harness.ts';
import { harnesses } from './harness/index.ts';
import { ownHarnesses } from './harness/own.ts';
import { readIfThere } from './project/files.ts';
import { configFile, type Project } from './project/find.ts';

/** Flags as they were typed: text for those with a value, true or false for switches. */
export type TypedFlags = Readonly<Partial<Record<FlagName, string | boolean>>>;

export interface Resolved {
  readonly options: Options;
  /** Agents that the config file declares. */
  readonly own: readonly Harness[];
  /** What the user asked for in this very call, by flag or variable. */
  readonly asked: ReadonlySet<FlagName>;
}

/** defaults < .spool/config.json < SPOOL_* < flags, each value checked where it came from; then frozen. */
export const resolveOptions = async (sources: {
  typed: TypedFlags;
  env: NodeJS.ProcessEnv;
  project: Project | null;
}): Promise<Resolved> => {
  const { values: config, own } = sources.project ? await readConfig(sources.project) : { values: {}, own: [] };
  const asked = new Map(
    flagNames.flatMap((name) => {
      const value = fromFlag(name, sources.typed) ?? fromEnv(name, sources.env);
      return value === null ? [] : [[name, value]];
    }),
  );
  const entries = flagNames.map((name) => [name, asked.get(name) ?? config[name] ?? fallback(flags[name])]);
  const options = Object.freeze(Object.fromEntries(entries)) as Options;
  if (options.minIterations > options.maxIterations)
    throw userError('min-above-max', options.minIterations, options.maxIterations);
  return { options, own, asked: new Set(asked.keys()) };
};

/** Checks what was typed on its own, so that a bad flag is named even outside a project. */
export const checkTyped = (typed: TypedFlags): void => {
  for (const name of flagNames) fromFlag(name, typed);
};

const fromFlag = (name: FlagName, typed: TypedFlags): Value | null => {
  const raw = typed[name];
  if (raw === undefined) return null;
  return typeof raw === 'boolean' ? raw : parsed(name, flagOf(name), raw);
};

const fromEnv = (name: FlagName, env: NodeJS.ProcessEnv): Value | null => {
  const raw = env[envOf(name)];
  if (!raw || !flags[name].from.includes('env')) return null;
  return parsed(name, envOf(name), raw);
};

const parsed = (name: FlagName, where: string, raw: string): Value => {
  const { kind } = flags[name];
  const value = parseValue(kind, raw);
  if (value === null) throw userError('bad-value', where, wanted[kind], raw);
  return value;
};

const fallback = (flag: Flag): Value | null => {
  if (flag.kind === 'switch') return flag.on ?? false;
  return flag.fallback === undefined ? null : parseValue(flag.kind, flag.fallback);
};

interface Config {
  readonly values: Partial<Record<FlagName, Value>>;
  readonly own: readonly Harness[];
}

export const readConfig = async (project: Project): Promise<Config> => {
  const path = configFile(project);
  const file = relative(project.root, path);
  const text = await readIfThere(path).catch((error: unknown) => {
    throw userError('bad-config', file, systemProblem(error));
  });
  if (text === null) return { values: {}, own: [] };
  const { $schema: _, harnesses: declared, ...rest } = parseJson(text, file);
  const values = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, configValue(file, key, value)]));
  return { values, own: ownHarnesses(declared, harnesses, { root: project.root, file }) };
};

const parseJson = (text: string, file: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    throw userError('bad-config', file, `not valid JSON (${(error as Error).message})`);
  }
  throw userError('bad-config', file, 'must hold one JSON object');
};

const configValue = (file: string, key: string, value: unknown): Value => {
  const name = configKeys.find((known) => known === key);
  if (!name) {
    const keys = [...configKeys, 'harnesses'];
    const near = closest(key, keys);
    const hint = near ? ` (did you mean "${near}"?)` : `. Keys: ${keys.join(', ')}`;
    throw userError('bad-config', file, `unknown key "${key}"${hint}`);
  }
  const { kind } = flags[name];
  const wellTyped =
    kind === 'switch' ? typeof value === 'boolean' : typeof value === 'string' || typeof value === 'number';
  const result = wellTyped ? parseValue(kind, String(value)) : null;
  if (result === null) throw userError('bad-config', file, `"${key}" ${wanted[kind]}, not ${JSON.stringify(value)}`);
  return result;
};
