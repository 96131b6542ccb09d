/** Names of changes and modules. All here is text in, text out: what is not in the given list is never answered. */

export type Match =
  | { readonly kind: 'one'; readonly id: string }
  | { readonly kind: 'several'; readonly ids: readonly string[] }
  | { readonly kind: 'none'; readonly near: string | null };

/** An id that is exact, or the only one with that prefix. */
export const matchId = (query: string, ids: readonly string[]): Match => {
  if (ids.includes(query)) return { kind: 'one', id: query };
  const found = query === '' ? [] : ids.filter((id) => id.startsWith(query));
  if (found.length === 1) return { kind: 'one', id: found[0]! };
  if (found.length > 1) return { kind: 'several', ids: found };
  return { kind: 'none', near: closest(query, ids) };
};

/** The first three digits of `NNN-NN_slug`; null for a change that is numbered differently. */
export const moduleOf = (changeId: string): string | null => /^(\d{3})-\d{2}_/.exec(changeId)?.[1] ?? null;

/** The number of a change within its module, also under its archived name `YYYY-MM-DD-NNN-NN_slug`. */
export const changeNumber = (name: string, moduleId: string): number | null => {
  const match = /^(?:\d{4}-\d{2}-\d{2}-)?(\d{3})-(\d{2})_/.exec(name);
  return match && match[1] === moduleId ? Number(match[2]) : null;
};

export const isSlug = (text: string): boolean => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text) && text.length <= 80;

export const toSlug = (text: string): string | null => {
  const slug = text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 80)
    .replaceAll(/^-+|-+$/g, '');
  return isSlug(slug) ? slug : null;
};

/** The candidate that was probably meant, whole or by its beginning, or null when none is near. */
export const closest = (text: string, candidates: readonly string[]): string | null => {
  const typed = text.slice(0, 100).toLowerCase();
  if (typed.length < 2) return null;
  const ranked = candidates
    .map((candidate) => ({ candidate, score: unlikeness(typed, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.score - b.score);
  const best = ranked[0];
  return best && best.score <= Math.max(typed.length > 3 ? 2 : 1, Math.floor(typed.length / 3)) ? best.candidate : null;
};

const unlikeness = (typed: string, candidate: string): number => {
  if (typed.length >= 3 && candidate.includes(typed)) return 0;
  return Math.min(distance(typed, candidate), distance(typed, candidate.slice(0, typed.length)));
};

const distance = (a: string, b: string): number => {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const swap = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(swap, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
};
