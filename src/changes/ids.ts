import { closest } from '../text/closest.ts';

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

/** The branch of a change that works in a place of its own; a folder may be called what a branch may not. */
export const branchOf = (changeId: string): string =>
  `ralph/${changeId.replaceAll(/[\s\u0000-\u0020\u007f~^:?*[\\]+|\.\.+|@\{|\.(?:lock)?$/g, '-')}`;

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
    .replaceAll(/^-+|(?<!-)-+$/g, '');
  return isSlug(slug) ? slug : null;
};
