import { basename } from 'node:path';
import { tryReadTasks } from '../../changes/tasks/read.ts';
import { describeTampering } from '../../guard/guard.ts';
import type { Tampering } from '../../guard/memory.ts';
import { openTasks as findOpenTasks } from '../../changes/tasks/task.ts';
import { type GateReport, type GateRun, maxListed } from '../../ralph/record.ts';
import { passes, runsCommands } from '../../ralph/gate-result.ts';
import type { EndedIteration } from '../../ralph/loop-host.ts';
import { deletedChanges } from '../../changes/sources.ts';
import { commandLine } from '../../text/shell-words.ts';
import { ensureRunState, type RunContext } from '../context.ts';
import { openProofGate, type ProofContext } from './proof-gate.ts';
import { type CommandContext, runCommands } from './run-commands.ts';
import { findWeakened, noneWeakened, withWeakened } from './weakened-tests.ts';
import { type RestoreContext, restoreInstructions } from './restore-instructions.ts';
import { type ReviewContext, review } from '../review/review.ts';

type GateContext = RestoreContext &
  Pick<RunContext, 'project' | 'lock' | 'emit' | 'copies' | 'fileLists'> &
  CommandContext &
  ProofContext &
  ReviewContext;

/** Checks whether a promise counts: quick checks first, then the verify commands. */
export const createGate =
  (context: GateContext) =>
  async (iteration: number, ended: EndedIteration): Promise<GateReport | null> => {
    const { gate } = context.plan;
    const { completionFound: promised } = ended;
    const isGuarded = promised && !gate.allowTampering;
    const byAgent = context.guard.agentEnded();
    if (!promised && !runsCommands(gate, ended)) return null;
    // Edits of the user in the meantime become part of the goal. They are not tampering.
    const { conflicts } = await context.copies.sync();
    const openTasks = promised && gate.requireTasks ? openTasksOf(context) : [];
    const weakened = isGuarded && gate.requireScenarios ? await findWeakened(context, ended) : noneWeakened;
    const quickChecksPass =
      openTasks.length + conflicts.length + weakened.sentences.length === 0 && !(isGuarded && byAgent.length > 0);
    const proofGate = quickChecksPass ? openProofGate(context) : null;
    const { runs, tampering } = quickChecksPass
      ? await runCommands(context, { iteration, isGuarded, proofGate })
      : { runs: [], tampering: [] };
    ensureRunState(context);
    const isInterrupted = runs.some(({ outcome }) => outcome === 'interrupted');
    const proven = isInterrupted ? null : ((await proofGate?.finish({ ...ended, iteration, runs })) ?? null);
    if (proven === 'interrupted') runs.push(interruptedRun('--red-first'));
    const proof = proven === 'interrupted' ? null : proven;
    const soFar = { tampering, openTasks, conflicts, runs, ...(proof && { proof }) };
    const isReviewed = quickChecksPass && passes(soFar) && isReviewDue(context, iteration, ended);
    const reviewed = isReviewed ? { review: await review(context, { iteration, runs, hasProof: proof !== null }) } : {};
    ensureRunState(context);
    // Checked again, because a process that the agent left behind may have changed files in the meantime.
    const differences = isGuarded ? unique([...byAgent, ...tampering, ...context.guard.agentEnded()]) : [];
    const found = {
      ...withWeakened(await tamperingOf(context, differences, byAgent), weakened, context.plan),
      openTasks: openTasks.slice(0, maxListed),
      openTaskCount: openTasks.length,
      conflicts: conflicts.slice(0, maxListed),
      runs,
      ...(proof && { proof }),
      ...reviewed,
    };
    return { ...found, passed: passes(found) };
  };

/** Makes the loop repeat the gate when the run is resumed. */
const interruptedRun = (command: string): GateRun => ({
  command,
  outcome: 'interrupted',
  exitCode: null,
  durationMs: 0,
  tail: '',
});

/** A review is expensive: a promise before --min-iterations ends nothing, so it needs none. */
const isReviewDue = (
  { plan }: Pick<RunContext, 'plan'>,
  iteration: number,
  { completionFound }: { readonly completionFound: boolean },
): boolean => plan.gate.review !== undefined && completionFound && iteration >= plan.minIterations;

const unique = (differences: readonly Tampering[]): Tampering[] => [
  ...new Map(differences.map((each) => [JSON.stringify(each), each])).values(),
];

/** Describes what was changed in the goal, and how to restore or accept it. */
const tamperingOf = async (
  context: RestoreContext & Pick<RunContext, 'redactor' | 'project'>,
  differences: readonly Tampering[],
  byAgent: readonly Tampering[],
) => {
  const describe = (each: Tampering) => describeTampering(each, context.redactor);
  const isAgents = new Set(byAgent.map(describe));
  const sentence = (each: Tampering) => {
    const text = describe(each);
    if (each.kind === 'task') return text;
    return `${text} while ${isAgents.has(text) ? 'the agent was running' : 'the work was verified'}`;
  };
  // What is gone cannot become the goal.
  const isDeleted = differences.length > 0 && (await deletedChanges(context.project)).includes(context.plan.change);
  return {
    tampering: differences.slice(0, maxListed).map(sentence),
    tamperingCount: differences.length,
    restore: await restoreInstructions(context, differences),
    accept: differences.length === 0 || isDeleted ? null : commandLine('spool', 'accept', context.plan.change),
  } satisfies Partial<GateReport>;
};

const openTasksOf = ({
  target,
  workProject,
  redactor,
  guard,
}: Pick<RunContext, 'target' | 'workProject' | 'redactor' | 'guard'>): string[] => {
  const name = basename(target.tasksFile);
  const tasks = tryReadTasks(target, workProject.root);
  if (tasks === 'unreadable') return [`${name} cannot be read`];
  if (tasks === null) return [`${name} does not exist`];
  if (tasks.every(({ optional }) => optional)) return [`${name} has no required tasks`];
  const titles = [...guard.uncountedTasks(), ...findOpenTasks(tasks).map(({ title }) => title)];
  return titles.map((title) => redactor.beginningOf(title, maxTitleLength));
};

const maxTitleLength = 200;
