import { userError } from '../errors.ts';
import type { Setting } from './settings.ts';
import type { Trusted } from './store.ts';

/** A setting and whether the user trusts it. */
export interface CheckedSetting extends Setting {
  /** When the current value was trusted; null if it is not trusted. */
  readonly since: string | null;
  /** The commands of the last trusted value; null if it was never trusted. */
  readonly before: readonly string[] | null;
}

export const checkTrust = (settings: readonly Setting[], trusted: readonly Trusted[]): CheckedSetting[] =>
  settings.map((setting) => {
    const known = trusted.filter(({ source }) => source === setting.source);
    const same = known.find(({ hash }) => hash === setting.hash);
    return { ...setting, since: same?.since ?? null, before: known.at(-1)?.commands ?? null };
  });

export const trustVariable = 'SPOOL_TRUST';

/** Parses SPOOL_TRUST: hashes, or `1` to trust everything in a project. */
export const pinsIn = (given: string | undefined): 'everything' | readonly string[] => {
  const pins = (given ?? '')
    .split(',')
    .map((pin) => pin.trim())
    .filter((pin) => pin !== '');
  if (pins.length === 1 && pins[0] === '1') return 'everything';
  const wrong = pins.find((pin) => !/^sha256:[\da-f]{64}$/.test(pin));
  if (wrong !== undefined)
    throw userError(
      'bad-value',
      trustVariable,
      'must be "sha256:" and 64 hexadecimal digits (several separated by commas), or 1 to trust everything in a project',
      wrong,
    );
  return pins;
};
