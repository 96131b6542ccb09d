import type { FileSettings } from '../config/resolve.ts';
import { configKeys, type FlagName } from '../config/flags.ts';
import type { SettingsAtStart } from '../ralph/events.ts';

/** The settings that the config file has changed since a run began, less those that a flag or a variable decides. */
export const changedSince = (then: SettingsAtStart, file: FileSettings, asked: ReadonlySet<FlagName>): FlagName[] =>
  configKeys.filter(
    (name) => !asked.has(name) && !then.explicit.includes(name) && written(then.file[name]) !== written(file[name]),
  );

/** One line that names each of them. */
export const describeChanged = (
  changed: readonly FlagName[],
  then: SettingsAtStart['file'],
  now: FileSettings,
): string => {
  const each = changed.map((name) => `${name} is now ${written(now[name])} (was ${written(then[name])})`);
  return `.spool/config.json has changed since this run began: ${each.join(', ')}.`;
};

/** As it stands in the file; a list of one is as good as that one. */
const written = (value: unknown): string => {
  if (value === undefined) return 'not set';
  return JSON.stringify(Array.isArray(value) && value.length === 1 ? value[0] : value);
};
