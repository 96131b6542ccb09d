import type { Options } from '../../config/flags.ts';
import { type FlagsKept, flagsKept } from '../../config/kept.ts';
import { describeTarget } from '../../config/notify-targets.ts';
import type { SettingsAtStart } from '../../ralph/plan.ts';

type RecordedFlag = FlagsKept<'recorded'>;

/** Settings that are not in a plan. Their values are recorded if they were set explicitly. */
export const recordedSettings: readonly RecordedFlag[] = flagsKept('recorded');

/** Returns the values of explicit settings that a plan does not contain, for a later `--resume`. */
export const valuesToRecord = (
  options: Pick<Options, RecordedFlag>,
  explicit: ReadonlySet<string>,
): NonNullable<SettingsAtStart['given']> =>
  Object.fromEntries(
    recordedSettings.flatMap((name) => {
      const value = options[name];
      return value === null || !explicit.has(name) || hasAddress(name, value) ? [] : [[name, value]];
    }),
  );

/** Anyone who knows the address of a notification can send messages to it, so it is not recorded. */
const hasAddress = (name: RecordedFlag, value: unknown): boolean =>
  name === 'notify' && (value as Options['notify']).some((target) => describeTarget(target) !== target);
