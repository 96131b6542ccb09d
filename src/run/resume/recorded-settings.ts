import type { Options } from '../../config/flags.ts';
import { describeTarget } from '../../config/notify-targets.ts';

/** Settings that are not in a plan. Their values are recorded if they were set explicitly. */
export const recordedSettings = [
  'notify',
  'commitMessage',
  'verifyTimeout',
  'retryDelay',
  'worktreeSetup',
  'stopGrace',
  'agentMode',
] as const;

/** Returns the values of explicit settings that a plan does not contain, for a later `--resume`. */
export const valuesToRecord = (
  options: Options,
  explicit: ReadonlySet<string>,
): Record<string, string | number | readonly string[]> =>
  Object.fromEntries(
    recordedSettings.flatMap((name) => {
      const value = options[name];
      return value === null || !explicit.has(name) || hasAddress(name, value) ? [] : [[name, value]];
    }),
  );

/** Anyone who knows the address of a notification can send messages to it, so it is not recorded. */
const hasAddress = (name: (typeof recordedSettings)[number], value: unknown): boolean =>
  name === 'notify' && (value as Options['notify']).some((target) => describeTarget(target) !== target);
