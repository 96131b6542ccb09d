import { latin1Path } from '../files/bytes.ts';
import { userFolder } from '../files/home.ts';
import { currentScope } from '../process/scope.ts';
import { isWithin, realPath } from '../process/which.ts';
import { pathInTree, type WorkTree } from './work-tree.ts';

/** What Spool records in the user's state folder, as far as that is in a work tree. */
export interface OwnRecords {
  /** As git names it, with a slash at the end; null if it is elsewhere. */
  readonly folder: string | null;
  readonly has: (name: string) => boolean;
}

/**
 * The state folder is in a work tree if HOME or XDG_STATE_HOME is. Its `.gitignore` hides it, but an agent can delete
 * that, and it does not apply to files that were committed before.
 */
export const ownRecordsIn = ({ root }: Pick<WorkTree, 'root'>): OwnRecords => {
  const [path, top] = [realPath(userFolder(currentScope().env)), realPath(root)];
  const isInside = path !== top && isWithin(path, top);
  const folder = isInside ? `${latin1Path(pathInTree({ root: top }, path))}/` : null;
  return { folder, has: (name) => folder !== null && name.startsWith(folder) };
};
