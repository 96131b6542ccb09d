import { createDrafted, removeDrafted } from '../changes/new-change.ts';
import { asUserError } from '../errors.ts';
import type { Cleanup } from './cleanup.ts';
import type { RunSpec } from './spec.ts';

export interface CreatedChange {
  /**
   * Called when the run starts. Without it, the cleanup deletes the change: a run that cannot start leaves nothing
   * behind.
   */
  keep(): void;
  /** Rethrows an error. Keeps the change if the error names a log of the run. */
  keepIfLogged(error: unknown): never;
}

/** Creates the change of a run, if it is a new one. Called after every check that does not need it. */
export const createChangeOf = async (
  { project, newChange }: Pick<RunSpec, 'project' | 'newChange'>,
  cleanup: Cleanup,
): Promise<CreatedChange> => {
  let isKept = newChange === undefined;
  const keep = () => {
    isKept = true;
  };
  if (newChange !== undefined) {
    await createDrafted(project, newChange);
    cleanup.add(newChange, (draft) => {
      if (!isKept) removeDrafted(project, draft, { isAlone: draft.isNewProject });
    });
  }
  return {
    keep,
    keepIfLogged: (error) => {
      if (asUserError(error)?.code === 'setup-failed') keep();
      throw error;
    },
  };
};

/** One line about what was created. */
export const createdNotice = ({ newChange }: Pick<RunSpec, 'newChange'>): string[] => {
  if (newChange === undefined) return [];
  const what = newChange.isNewProject ? `.spool and change ${newChange.id}` : `change ${newChange.id}`;
  return [`Created ${what} from your prompt.`];
};
