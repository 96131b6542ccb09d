import { userError } from '../errors.ts';
import type { Setting } from './settings.ts';
import type { Trusted } from './store.ts';

/** A setting, and what the user thinks of it. */
export interface Judged extends Setting {
  /** Since when it is trusted as it is; null when it is not. */
  readonly since: string | null;
  /** What it ran when it was trusted last; null when it never was. */
  readonly before: readonly string[] | null;
}

export const judge = (settings: readonly Setting[], trusted: readonly Trusted[]): Judged[] =>
  settings.map((setting) => {
    const known = trusted.filter(({ source }) => source === setting.source);
    const same = known.find(({ hash }) => hash === setting.hash);
    return { ...setting, since: same?.since ?? null, before: known.at(-1)?.commands ?? null };
  });

export const trustVariable = 'SPOOL_TRUST';

/** What SPOOL_TRUST pins: hashes, or with `1` whatever a project brings. */
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
