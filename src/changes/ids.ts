import { closest } from '../text/closest.ts';

export type Match =
  | { readonly kind: 'one'; readonly id: string }
  | { readonly kind: 'several'; readonly ids: readonly string[] }
  | { readonly kind: 'none'; readonly near: string | null };

/** Matches an exact id, or a prefix that only one id has. Never returns an id that is not in the list. */
export const matchId = (query: string, ids: readonly string[]): Match => {
  if (ids.includes(query)) return { kind: 'one', id: query };
  const found = query === '' ? [] : ids.filter((id) => id.startsWith(query));
  if (found.length === 1) return { kind: 'one', id: found[0]! };
  if (found.length > 1) return { kind: 'several', ids: found };
  return { kind: 'none', near: closest(query, ids) };
};

/** The branch of a change that runs in a worktree. Characters that git does not allow in a branch name are replaced. */
export const branchOf = (changeId: string): string =>
  `ralph/${changeId.replaceAll(/[\s\u0000-\u0020\u007f~^:?*[\\]+|\.\.+|@\{|\.(?:lock)?$/g, '-')}`;
