import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { createFolder } from '../../files/folders.ts';
import { removeSafely, writeSafely } from '../../files/safe.ts';
import { guardSettings } from '../../git/call/settings.ts';
import { findWorkTree, type Repository, type WorkTree } from '../../git/work-tree.ts';
import { openGuard } from '../../guard/guard.ts';
import { forgetGoal } from '../../guard/saved-memory.ts';
import { gateCommands, type Workspace } from '../../ralph/plan.ts';
import { newTempIndex } from '../../store/folders.ts';
import { adoptFileLists } from '../../store/file-lists.ts';
import { trialWorktree, workspaceFile } from '../../store/paths.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import type { Cleanup } from '../cleanup.ts';
import type { RunContext } from '../context.ts';
import { openWorkspaceCopies } from './copies.ts';
import type { RunDeadline } from '../deadline.ts';
import type { Planned } from '../plan/plan.ts';
import { noteRepository } from './repository.ts';
import type { restoreWork } from '../work/restore-unfinished.ts';
import { openWorkspace } from './open-workspace.ts';
import { committedByUser, lastSaveOf } from './user-commits.ts';
import { removeTrial } from '../gate/remove-trial.ts';

/** What agents work on, and what is watched there. */
type AgentWorkspace = Pick<RunContext, 'workProject' | 'workspace' | 'tree' | 'fileLists' | 'guard' | 'copies'>;

export interface AgentWorkspaceRequest extends Pick<
  RunContext,
  | 'project'
  | 'target'
  | 'options'
  | 'plan'
  | 'env'
  | 'folder'
  | 'redactor'
  | 'emit'
  | 'sandbox'
  | 'stopSignals'
  | 'trusted'
  | 'batch'
  | 'cluster'
> {
  readonly previous: Planned['previous'];
  /** The number of processes of earlier runs that were still running. */
  readonly leftovers: number;
  readonly deadline: RunDeadline;
  /** The repository of the project, which was checked. */
  readonly repository: Repository | null;
}

export const openAgentWorkspace = async (request: AgentWorkspaceRequest, cleanup: Cleanup): Promise<AgentWorkspace> => {
  const { project, target, options, plan, env, folder, emit, trusted } = request;
  const { change } = plan;
  const workspace = await openPlannedWorkspace(request);
  const workProject = { root: workspace.root };
  writeSafely(workspaceFile(folder), `${workspace.root}\n`);
  const tree = await openTree(workspace, request);
  if (tree) cleanup.add(tree, ({ tempIndex }) => removeSafely(dirname(tempIndex)));
  if (tree && request.cluster?.work) await restoreUnfinished({ ...request, tree }, request.cluster.work);
  if (existsSync(trialWorktree(project, change))) await removeTrial(project, change);
  const userState = userStateFolder(project, change, env);
  createFolder(userState);
  noteRepository({ project, change, env }, request.repository);
  const fileLists = adoptFileLists({ run: plan.run, folder, userState, redact: request.redactor.data });
  if (options.fresh) forgetGoal(userState);
  const lastActivityMs = lastSaveOf(project, change);
  // Opened before Spool commits anything: commits since the interruption of the last run were made by the user.
  const guard = await openGuard({
    project: workProject,
    change: target,
    commands: gateCommands(plan.gate),
    folder: userState,
    committedSince: committedByUser({ tree, workProject, leftovers: request.leftovers, lastActivityMs }),
  });
  if (workspace.worktree !== null) trusted.checkIn(workspace.root, request, 'harness');
  // Files that were guarded before are known, so they need no trust.
  if (workspace.worktree !== null && guard.isNew) trusted.checkIn(workspace.root, request, 'verify');
  const copies = await openWorkspaceCopies({ project, target, workspace, guard, emit });
  return { workProject, workspace, tree, fileLists, guard, copies };
};

const restoreUnfinished: typeof restoreWork = async (...request) =>
  (await import('../work/restore-unfinished.ts')).restoreWork(...request);

/** One run of a batch at a time: setting up a worktree uses the repository. */
const openPlannedWorkspace = (request: AgentWorkspaceRequest): Promise<Workspace> => {
  const { previous, deadline, trusted, batch } = request;
  const exclusive = batch?.exclusive ?? ((work) => work());
  const opening = exclusive(() =>
    openWorkspace({
      ...request,
      checkSetup: (root) => trusted.checkIn(root, request, 'worktreeSetup'),
      previous: previous?.view.workspace ?? null,
    }),
  );
  return opening.catch(deadline.rethrow);
};

/** Returns null without a git repository, or if git refuses it, which is announced. */
const openTree = async (
  { root }: Workspace,
  { env, emit }: Pick<AgentWorkspaceRequest, 'env' | 'emit'>,
): Promise<WorkTree | null> => {
  const found = await findWorkTree(root, newTempIndex(env));
  if (found.kind === 'refused')
    emit({ type: 'notice', text: `Nothing will be committed, because git refuses: ${found.why}` });
  if (found.kind !== 'found') return null;
  await guardSettings(found.tree);
  return found.tree;
};
