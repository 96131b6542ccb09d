import { isOneFile } from '../changes/tasks/read.ts';
import { asUserError, systemProblem } from '../errors.ts';
import { createFolder } from '../files/folders.ts';
import { tipOf } from '../git/branches.ts';
import { headBranch } from '../git/work-tree.ts';
import { withGitScope } from '../git/call/scope.ts';
import { forgetGoal } from '../guard/saved-memory.ts';
import { withProcessScope } from '../process/scope.ts';
import type { Emit } from '../ralph/events.ts';
import { type LoopState, runLoop } from '../ralph/loop.ts';
import type { RunResult } from '../ralph/view.ts';
import { recordTip } from '../store/user-state/branches.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { createCleanup } from './cleanup.ts';
import type { RunContext } from './context.ts';
import type { RunDeadline } from './deadline.ts';
import { checkStart, lockRun } from './check-start.ts';
import { createHandover } from './handover.ts';
import { createLoopHost } from './host.ts';
import { createChangeOf } from './new-change.ts';
import { createNotifier } from './notify/notify.ts';
import { openRun, type OpenedRun } from './open-run.ts';
import type { Planned } from './plan/plan.ts';
import type { RunSpec } from './spec.ts';
import type { RunServices } from './services.ts';
import { announceUnaccepted } from './gate/changed-goal.ts';
import { withFinalCommit } from './work/commit-proof.ts';
import { countWorkspaceTasks } from './workspace/tasks.ts';

/** The maximum number of guarded files that are announced. */
const maxGuarded = 50;

/**
 * Runs a change until it is done, or until something ends the run. If the user got something wrong, it rejects before
 * anything is written.
 */
export const startRun = (given: RunSpec, services: RunServices): Promise<RunResult> =>
  withGitScope(() => startInScope(given, services));

const startInScope = async (given: RunSpec, services: RunServices): Promise<RunResult> => {
  const { env, ownsProcess, cluster } = services;
  const cleanup = createCleanup();
  cleanup.add(services.reporter, (each) => each.dispose());
  try {
    const scope = { env, cwd: given.cwd, passLists: given.passLists, withheld: cluster?.withheld ?? [], ownsProcess };
    return await withProcessScope(scope, async () => {
      const checked = await checkStart(given, services, cleanup);
      const created = await createChangeOf(given, cleanup);
      const lock = cleanup.add(lockRun(checked), (each) => each.release());
      const opened = await openRun({ ...checked, lock }, services, cleanup).catch(created.keepIfLogged);
      created.keep();
      return await runToEnd(opened, checked.deadline);
    });
  } finally {
    await cleanup.run();
  }
};

const runToEnd = async ({ context, planned, saveError }: OpenedRun, deadline: RunDeadline): Promise<RunResult> => {
  const { plan, workspace, emit, view, trusted, options } = context;
  const notifier = await createNotifier(context);
  const emitAndNotify: Emit = (event) => {
    emit(event);
    notifier.onEvent(event, view());
  };
  const guarded = plan.gate.allowTampering ? [] : context.guard.names(context.redactor).slice(0, maxGuarded);
  const commands = trusted.originsOf({ options, plan, previous: planned.previous });
  const tasks = countWorkspaceTasks(context);
  const repository = context.tree && { branch: headBranch(context.tree) };
  const format = isOneFile(context.target) ? { format: context.target.format.name } : {};
  const at = new Date().toISOString();
  emit({ type: 'run-started', plan, workspace, commands, guarded, ...format, tasks, repository, at });
  context.control.started();
  if (planned.startsOver) createHandover(context).startOver();
  if (!plan.gate.allowTampering) await announceUnaccepted(context);
  deadline.giveGrace(options.stopGrace);
  try {
    const state = await initialLoopState(context, planned);
    const reason = await runLoop(plan, state, createLoopHost({ ...context, emit: emitAndNotify }));
    if (reason === 'complete') await recordComplete(context);
    const ended = view();
    await notifier.ended(ended);
    return { reason, cause: ended.cause, detail: ended.detail ?? '', view: ended };
  } catch (error) {
    context.reporter.dispose();
    const problem = asUserError(error)?.message ?? `a bug in Spool (${systemProblem(error)})`;
    saveError(problem);
    // The run can be resumed, so its saved status is not changed.
    await notifier.ended({ ...view(), status: 'failed', cause: null, detail: problem });
    throw error;
  }
};

/**
 * Deletes the recorded goal, so that the next run of the change starts with a new one, and records the verified commit.
 * What was changed with --allow-tampering is still known to `spool archive`.
 */
const recordComplete = async ({ project, plan, workspace, guard, env }: RunContext): Promise<void> => {
  const folder = userStateFolder(project, plan.change, env);
  createFolder(folder);
  if (!plan.gate.allowTampering || guard.check().length === 0) forgetGoal(folder);
  const tip = workspace.branch === null ? null : await tipOf(project.root, workspace.branch);
  if (tip !== null) recordTip(folder, plan.run, tip);
};

const initialLoopState = async (
  { tree }: Pick<RunContext, 'tree'>,
  { previous, cooldowns }: Planned,
): Promise<LoopState> => {
  const pending = previous?.view.pending ?? null;
  return {
    last: previous?.last ?? null,
    earlier: previous?.earlier ?? null,
    cooldowns: new Map(Object.entries(cooldowns)),
    pending: pending && tree ? await withFinalCommit(tree, pending) : pending,
  };
};
