import type { FlagName } from '../config/flags.ts';
import type { RawFlags } from '../config/resolve.ts';
import { userError } from '../errors.ts';

/**
 * The settings that a person can send to workers. None of them names a command, a file or an address, and none lifts a
 * restriction: a person with write access to the database must not decide what workers execute.
 */
const allowed: ReadonlySet<string> = new Set<FlagName>([
  'harness',
  'model',
  'escalate',
  'handover',
  'completionPromise',
  'blockedPromise',
  'minIterations',
  'maxIterations',
  'maxDuration',
  'maxCost',
  'maxTokens',
  'iterationTimeout',
  'idleTimeout',
  'maxFailures',
  'maxStalled',
  'maxWait',
  'requireTasks',
  'requireScenarios',
  'redFirst',
  'failFast',
]);

export const queueSettingNames: readonly string[] = [...allowed];

/** Returns the settings as flags. Throws if one of them is not allowed: a worker does not trust the database. */
export const queueSettings = (settings: Readonly<Record<string, string | boolean>>): RawFlags => {
  const unknown = Object.keys(settings).find((name) => !allowed.has(name));
  if (unknown !== undefined) throw userError('bad-queue', `has a setting that workers do not accept: ${unknown}`);
  return settings;
};
