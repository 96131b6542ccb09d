import type { GitCall } from './call/git.ts';

/** A repository from which commits are read: that of a work tree, or a bare one. */
export interface CommitStore {
  /** The work tree, or the bare repository itself. */
  readonly root: string;
  readonly isBare?: true;
}

/** Runs git there. A bare repository is named: git may be set up not to look for those. */
export const inStore = ({ root, isBare }: CommitStore): GitCall =>
  isBare ? { cwd: root, env: { GIT_DIR: root } } : { cwd: root };
