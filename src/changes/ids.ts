import { closest } from '../text/closest.ts';

export type Match =
  | { readonly kind: 'one'; readonly id: string }
  | { readonly kind: 'several'; readonly ids: readonly string[] }
  | { readonly kind: 'none'; readonly near: string | null };

/**
 * Matches an exact id, or a prefix that only one id has. Leading zeros may be left out: `2-1` is `002-01`. Never returns
 * an id that is not in the list.
 */
export const matchId = (query: string, ids: readonly string[]): Match => {
  if (ids.includes(query)) return { kind: 'one', id: query };
  const numbered = withPrefix(`${withZeros(query)}_`, ids);
  const typed = withPrefix(query, ids);
  const found = [numbered, typed].find(({ length }) => length > 0) ?? withPrefix(withZeros(query), ids);
  if (found.length === 1) return { kind: 'one', id: found[0]! };
  if (found.length > 1) return { kind: 'several', ids: found };
  return { kind: 'none', near: closest(query, ids) };
};

const withPrefix = (prefix: string, ids: readonly string[]): string[] =>
  prefix === '' ? [] : ids.filter((id) => id.startsWith(prefix));

/** `2` → `002`, `2-1` → `002-01`. Any other text is returned unchanged. */
const withZeros = (query: string): string => {
  const [, module, number] = /^(\d{1,3})(?:-(\d{1,2}))?$/.exec(query) ?? [];
  if (module === undefined) return query;
  return number === undefined ? module.padStart(3, '0') : `${module.padStart(3, '0')}-${number.padStart(2, '0')}`;
};

/** Whether a text has the form of the id of a change, or of the beginning of one, and cannot be a sentence. */
export const looksLikeId = (text: string): boolean =>
  /^\d{1,3}(?:-\d{1,2}(?:_[a-z0-9-]*)?|-[a-z][a-z0-9-]*)?$/.test(text);

/** The id without its slug, such as `002-01`; an id of another form is returned whole. */
export const shortId = (changeId: string): string => /^(\d{3}-\d{2})_/.exec(changeId)?.[1] ?? changeId;
