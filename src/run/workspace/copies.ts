import { join, relative } from 'node:path';
import { userError } from '../../errors.ts';
import { changedAmong } from '../../git/branches.ts';
import { type Copies, noCopies, openCopies, type Synced } from '../../changes/copies.ts';
import type { Change } from '../../changes/source.ts';
import { type Project } from '../../store/project.ts';
import type { Guard } from '../../guard/guard.ts';
import type { Emit } from '../../ralph/events.ts';
import type { Workspace } from '../../ralph/plan.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { RunContext } from '../context.ts';
import type { UncommittedList } from '../work/uncommitted-list.ts';
import { configPath } from '../../store/paths.ts';

export interface WorkspaceCopiesRequest {
  readonly project: Project;
  readonly target: Change;
  readonly workspace: Workspace;
  readonly guard: Guard;
  readonly emit: Emit;
}

/** Updates a worktree to the project's version of the change. Throws if the two cannot be merged. */
export const openWorkspaceCopies = async ({
  project,
  target,
  workspace,
  guard,
  emit,
}: WorkspaceCopiesRequest): Promise<Copies> => {
  if (workspace.worktree === null) return noCopies;
  const copies = openCopies({ project, change: target, root: workspace.root });
  const announced = new Set<string>();
  const syncAccepted = () => guard.acceptSync(() => copies.sync());
  const { taken, conflicts, blocked } = await syncAccepted();
  const inWorktree = (path: string) => relative(project.root, join(workspace.root, path));
  const copyCommand = (path: string) => commandLine('cp', path, inWorktree(path));
  if (blocked.length > 0) throw userError('copies-blocked', blocked[0]!.path, inWorktree(blocked[0]!.obstacle));
  if (conflicts.length > 0) throw userError('copies-differ', conflicts.join(', '), copyCommand(conflicts[0]!));
  announceTaken(taken, emit);
  return {
    takeReceived: () => copies.takeReceived(),
    async sync(): Promise<Synced> {
      const synced = await syncAccepted();
      announceTaken(synced.taken, emit);
      const sentences = [
        ...synced.conflicts.map(
          (path) =>
            `Conflict in ${path}: it was changed in the project and in the worktree; to use yours: ${copyCommand(path)}`,
        ),
        ...synced.blocked.map(
          ({ path, obstacle }) => `Conflict in ${path}: ${inWorktree(obstacle)} is in the way; delete it`,
        ),
      ];
      for (const text of sentences.filter((sentence) => !announced.has(sentence))) emit({ type: 'notice', text });
      for (const text of sentences) announced.add(text);
      return { ...synced, conflicts: sentences };
    },
  };
};

/**
 * Adds edits of the user that were copied to a worktree to its next commit if git tracks the file. Otherwise the branch
 * would conflict with them when it lands. The config file is not part of the work.
 */
export const addSyncedEdits = async (
  { copies, workspace }: Pick<RunContext, 'copies' | 'workspace'>,
  uncommittedList: UncommittedList,
) => {
  const { worktree, root } = workspace;
  const received = copies.takeReceived().filter((path) => path !== configPath);
  if (worktree === null || received.length === 0) return;
  const names = await changedAmong(
    worktree,
    received.map((path) => relative(worktree, join(root, path))),
  );
  uncommittedList.add(names, { why: 'copied from the project', isPending: true });
};

const announceTaken = (taken: readonly string[], emit: Emit): void => {
  if (taken.length > 0) emit({ type: 'notice', text: `Copied your changes to the worktree: ${taken.join(', ')}.` });
};
