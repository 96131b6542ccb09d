import { shortHash } from './short-hash.ts';

/**
 * The branch of a change that runs in a worktree. If characters are replaced that git does not allow in a branch name,
 * a hash tells it apart from that of a change with such a name.
 */
export const branchOf = (changeId: string): string => {
  const name = changeId.replaceAll(/[\s\u0000-\u0020\u007f~^:?*[\\]+|\.\.+|@\{|\.(?:lock)?$/g, '-');
  return `ralph/${name}${name === changeId ? '' : `-${shortHash(changeId)}`}`;
};
