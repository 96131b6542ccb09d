import { type FileSettings, configKeys, type FlagName } from '../../config/flags.ts';
import type { SettingsAtStart } from '../../ralph/plan.ts';

/**
 * Returns the settings that have changed in the config file since a run began, except those set by a flag or a
 * variable.
 */
export const changedSince = (then: SettingsAtStart, file: FileSettings, explicit: ReadonlySet<FlagName>): FlagName[] =>
  configKeys.filter(
    (name) =>
      !explicit.has(name) && !then.explicit.includes(name) && formatValue(then.file[name]) !== formatValue(file[name]),
  );

export const describeChanged = (
  changed: readonly FlagName[],
  then: SettingsAtStart['file'],
  now: FileSettings,
): string => {
  const each = changed.map((name) => `${name} is now ${formatValue(now[name])} (was ${formatValue(then[name])})`);
  return `.spool/config.json has changed since this run began: ${each.join(', ')}.`;
};

/** Formats a value as JSON. A list with one item equals the item. */
const formatValue = (value: unknown): string => {
  if (value === undefined) return 'not set';
  return JSON.stringify(Array.isArray(value) && value.length === 1 ? value[0] : value);
};
