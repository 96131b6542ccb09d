import { isObject } from '../text/shape.ts';

/*
 * Upgrades state.json and history.jsonl from version 1 to 2. A file can have any content, so nothing here relies on a
 * type: what does not fit is returned unchanged, and the parser rejects it.
 */

type Fields = Readonly<Record<string, unknown>>;

/** The versions that can be read. */
export const readableVersions: ReadonlySet<unknown> = new Set([1, 2]);

/** Returns a run in version 2, from version 1 or 2. */
export const upgradeView = (value: unknown): unknown => {
  if (!isObject(value) || value.v !== 1) return value;
  const fields = renamed(upgradeAttempt(value), {
    ...identityNames,
    spentNow: 'currentUsage',
    sameError: 'sameErrorCount',
    finished: 'finishedIterations',
    heldSinceMs: 'deferredSinceMs',
    resting: 'cooldowns',
  });
  return {
    ...fields,
    ...upgradeSettings(fields),
    ...('pending' in value && { pending: upgradeRecord(value.pending) }),
  };
};

/** Returns the record of an iteration in version 2, from version 1 or 2. */
export const upgradeRecord = (value: unknown): unknown =>
  isObject(value) && value.v === 1 ? upgradeAttempt(value) : value;

/** What identifies a run in the user's state folder. It has no version number. */
export const upgradeIdentity = <Identity>(value: Identity): Identity => {
  if (!isObject(value)) return value;
  const fields = 'place' in value ? renamed(value, identityNames) : value;
  const written = 'written' in value && { written: upgradeIdentity(value.written) };
  // Before there were several, there was one source.
  return { source: 'spool', ...fields, ...upgradeSettings(fields), ...written } as Identity;
};

const identityNames = { place: 'workspace' };

/** The fields that a run and an attempt have in common. */
const upgradeAttempt = (value: Fields): Fields => {
  const { held, repeated, tasks, error } = value;
  return {
    ...renamed(value, { held: 'deferred' }),
    v: 2,
    ...(Array.isArray(held) && { deferred: held.map(upgradeRecord) }),
    ...(isObject(repeated) && { repeated: renamed(repeated, { about: 'title' }) }),
    ...(isObject(tasks) && { tasks: renamed(tasks, { all: 'total' }) }),
    ...(isObject(error) && error.kind === 'limit' && { error: { ...error, kind: 'rate-limit' } }),
  };
};

const upgradeSettings = ({ settings }: Fields): Fields =>
  isObject(settings) ? { settings: renamed(settings, { asked: 'explicit' }) } : {};

const renamed = (value: Fields, names: Readonly<Record<string, string>>): Fields =>
  Object.fromEntries(Object.entries(value).map(([name, field]) => [names[name] ?? name, field]));
