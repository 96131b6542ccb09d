import { shortHash } from '../short-hash.ts';
import type { Criterion } from './criterion.ts';
import { foldId } from './slug.ts';

/**
 * Returns an id for each criterion. Criteria whose parts are equal all get a hash of their text, so that their ids do not
 * depend on their order. Only those with equal texts are numbered.
 */
export const uniqueIds = (criteria: readonly Pick<Criterion, 'parts' | 'text'>[]): string[] => {
  const plain = criteria.map(({ parts }) => parts.join('/'));
  const counts = new Map<string, number>();
  for (const id of plain) counts.set(foldId(id), (counts.get(foldId(id)) ?? 0) + 1);
  const taken = new Set(plain.map(foldId).filter((id) => counts.get(id) === 1));
  const next = new Map<string, number>();
  return criteria.map(({ text }, index) => {
    const id = plain[index]!;
    if (counts.get(foldId(id)) === 1) return id;
    const hashed = `${id}-${shortHash(text)}`;
    for (let times = next.get(hashed) ?? 1; ; times++) {
      const candidate = times === 1 ? hashed : `${hashed}-${times}`;
      if (taken.has(foldId(candidate))) continue;
      taken.add(foldId(candidate));
      next.set(hashed, times + 1);
      return candidate;
    }
  });
};
