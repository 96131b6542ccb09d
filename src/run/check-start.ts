import { agentsOf, reviewOf } from '../config/agents.ts';
import { userError } from '../errors.ts';
import type { FoundRepository } from '../git/work-tree.ts';
import { allAgents } from '../ralph/plan.ts';
import { stopByPromise } from '../ralph/next-step.ts';
import { usedUp } from '../ralph/used-up.ts';
import { type ChangeLock, lockChange } from '../store/run-lock.ts';
import { commandLine } from '../text/shell-words.ts';
import { type UsableAgents, usableAgents } from './plan/agents.ts';
import type { Cleanup } from './cleanup.ts';
import type { Assignment } from './context.ts';
import { startStopwatch, type Stopwatch } from '../process/timers.ts';
import { createRunDeadline, type RunDeadline } from './deadline.ts';
import { type CheckedSpec, checkOrigin } from './resume/check-origin.ts';
import { isCurrent, makePlan, type Planned, reusePlan } from './plan/plan.ts';
import { checkRedFirst } from './plan/red-first.ts';
import { checkReviewer } from './plan/reviewer.ts';
import { checkRepository } from './workspace/repository.ts';
import type { RunSpec } from './spec.ts';
import { createRunSandbox, distrustWritable, type RunSandbox } from './sandbox.ts';
import type { RunServices } from './services.ts';
import { checkAssignment, checkScenarios, readAssignment } from './assignment.ts';
import { readLastRun } from './resume/last-run.ts';
import { withNewUntil } from './resume/new-until.ts';
import { stateFolder } from '../store/paths.ts';

/** A run that has passed all checks that need no lock, with the repository of its project. */
export interface CheckedStart extends CheckedSpec, FoundRepository {
  readonly planned: Planned;
  /** The agents of the plan that are installed. */
  readonly usable: UsableAgents;
  readonly assignment: Assignment;
  readonly deadline: RunDeadline;
  readonly runSandbox: RunSandbox;
  readonly stopwatch: Stopwatch;
}

/** Checks everything that the user may have got wrong, before anything is written. */
export const checkStart = async (given: RunSpec, services: RunServices, cleanup: Cleanup): Promise<CheckedStart> => {
  const { env, findHarness } = services;
  // Before the first git command, which must not be one that agents can write.
  const harnesses = [...agentsOf(given.options), ...reviewerIn(given.options)].map(({ harness }) =>
    findHarness(harness),
  );
  distrustWritable(given.options, { cwd: given.cwd, env }, harnesses);
  const earlier = currentPlan(given, services);
  const lastRun = earlier?.lastRun ?? (await readLastRun(given));
  const origin = await checkOrigin(given, services, lastRun);
  const spec = await withNewUntil(origin.spec, services, lastRun);
  const stopwatch = cleanup.add(startStopwatch(), (each) => each.dispose());
  const deadline = cleanup.add(createRunDeadline(), (each) => each.dispose());
  deadline.setLimits({ maxDurationMs: spec.options.maxDuration, untilMs: Infinity }, stopwatch.elapsedMs);
  const found = await checkRepository({ project: spec.project, change: spec.target.id, env });
  const assignment = readAssignment(spec);
  const reused = earlier && spec === given ? reusePlan(earlier) : null;
  const planned = reused ?? (await makePlan({ ...spec, env }, lastRun));
  checkUsedUp(planned);
  if (planned.previous === null) checkAssignment(spec, assignment, planned.plan);
  if (!spec.newChange) await checkScenarios(spec, planned.plan);
  await checkRedFirst({ ...spec, ...planned, ...found, env });
  const usable = usableAgents(planned.plan, spec, services);
  checkReviewer({ ...planned.plan, hasGit: found.repository !== null }, spec, services);
  const runSandbox = createRunSandbox(spec, { ...services, stop: deadline.stop });
  cleanup.add(runSandbox, (each) => each.close());
  await stoppable(services, deadline, () => runSandbox.open(planned.plan, allAgents({ ...planned.plan, ...usable })));
  return { ...origin, ...found, spec, planned, usable, assignment, deadline, runSandbox, stopwatch };
};

const reviewerIn = (options: RunSpec['options']) => {
  const review = reviewOf(options);
  return review === null ? [] : [review];
};

/** A resumed run that has reached a limit would end at once. Throws before anything of it is written or shown. */
const checkUsedUp = ({ plan, previous }: Planned): void => {
  if (previous === null || (previous.last && stopByPromise(plan, previous.last))) return;
  const used = usedUp(previous.view, plan);
  if (used)
    throw userError(
      'limit-reached',
      plan.change,
      used.why,
      commandLine('spool', 'ralph', '--change', plan.change, ...used.flags),
    );
};

/** Returns the plan for which the user was asked, unless the answer took so long that the files have changed. */
const currentPlan = (spec: RunSpec, { trusted }: RunServices): Planned | null => {
  const earlier = trusted.planOf(spec);
  return earlier && isCurrent(earlier, spec) ? earlier : null;
};

/** Opens the sandbox, which takes a while and may hang, and stops waiting on a signal or at the deadline. */
const stoppable = async (
  { onStopSignals }: RunServices,
  deadline: RunDeadline,
  open: () => Promise<unknown>,
): Promise<void> => {
  const stopSignals = onStopSignals(() => {});
  deadline.followSignals(stopSignals);
  try {
    await open().catch(deadline.rethrow);
    if (stopSignals.received() !== null) deadline.rethrow(null);
  } finally {
    stopSignals.dispose();
  }
};

/** Keeps other runs from working on this change, or in this work tree, at the same time. */
export const lockRun = ({ spec, planned, gitDir }: CheckedStart): ChangeLock => {
  const { project, target, options } = spec;
  const hasWorktree = options.worktree || Boolean(planned.previous?.view.workspace?.worktree);
  const treeFolder = hasWorktree ? null : (gitDir ?? stateFolder(project));
  return lockChange(project, target.id, { treeFolder, command: 'ralph' });
};
