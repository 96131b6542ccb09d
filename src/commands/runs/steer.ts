import { userError } from '../../errors.ts';
import { lastSaved } from '../../changes/tasks/current.ts';
import { matchId } from '../../changes/ids.ts';
import { resolveChange } from '../../changes/sources.ts';
import { isInsideIteration } from '../../process/tree.ts';
import { asksToStop, type ControlCommand } from '../../ralph/control.ts';
import { isLastIteration, isWorking, type RunView } from '../../ralph/view.ts';
import { usedUp } from '../../ralph/used-up.ts';
import { redactedTerminal } from '../../report/redacted.ts';
import { endPredicate, endWithReason } from '../../report/run-end.ts';
import { leftoversOf } from '../../store/leftovers.ts';
import { findProject, type Project } from '../../store/project.ts';
import { ownerText, processText } from '../../store/run-lock.ts';
import { loopOwner, queuedBy } from '../../store/state.ts';
import { changesWithRuns } from '../../store/runs.ts';
import { type Answer, answerMs, steer } from '../../store/steer.ts';
import { pluralise } from '../../text/format.ts';
import { safeJson } from '../../text/controls.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { Invocation } from '../registry/command.ts';
import { confirmOn } from '../user/consent.ts';
import { queueOf } from '../with-queue/queue-url.ts';
import type { Outcome } from './outcome.ts';
import { describeError, worst } from './run-exit-code.ts';

/** Sends a request to the run of a change, or to all runs of the project, and prints what will happen. */
export const steerRuns = async (invocation: Invocation, command: ControlCommand): Promise<number> => {
  const {
    args: [query],
    rawFlags,
    cwd,
    env,
  } = invocation;
  const project = findProject(cwd);
  const running = changesWith(project, loopOwner);
  const queued = changesWith(project, queuedBy).filter((change) => !running.includes(change));
  const request: SteerRequest = { invocation, command, project, running, queued, print: printerOf(invocation) };
  if (rawFlags.all === true) {
    if (query !== undefined) throw userError('two-actions', '--all', 'a change');
    return steerAllRuns(request);
  }
  if (query === undefined) throw userError('run-required', running);
  const resolve = () => resolveRun(project, query, [...running, ...queued]);
  const isHere = matchId(query, [...running, ...queued]).kind === 'one';
  const queue = isHere || rawFlags.local === true ? null : await queueOf(invocation, project);
  const elsewhere =
    queue &&
    (await (
      await import('../with-queue/steer-queued.ts')
    ).steerQueued(queue, { project, env, command, query, resolve }));
  if (elsewhere) request.print(elsewhere);
  else {
    const change = await resolve();
    request.print(outcomeOf(change, command, await steer(project, change, command, { env })));
  }
  return 0;
};

interface SteerRequest {
  readonly invocation: Invocation;
  readonly command: ControlCommand;
  readonly project: Project;
  /** The changes that run on this machine. */
  readonly running: readonly string[];
  /** Those that a batch on this machine has not started yet. */
  readonly queued: readonly string[];
  readonly print: (outcome: Pick<Outcome, 'text' | 'json'>) => void;
}

const printerOf = ({ terminal, env, rawFlags }: Invocation): SteerRequest['print'] => {
  const redacted = redactedTerminal(terminal, env);
  return ({ json, text }) => (rawFlags.json ? redacted.print(`${safeJson(json)}\n`) : redacted.answer(text));
};

/** On this machine at once. What other machines do for the project is stopped if the user agrees. */
const steerAllRuns = async (request: SteerRequest): Promise<number> => {
  const { invocation, command, project, running, queued, print } = request;
  const { env } = invocation;
  const terminal = redactedTerminal(invocation.terminal, env);
  const others = asksToStop(command) ? [...queued, ...(await changesWithLeftovers(project))] : [];
  const outcomes = await Promise.all(
    [...running, ...others].map(async (change) => {
      try {
        return outcomeOf(change, command, await steer(project, change, command, { env, wholeBatch: true }));
      } catch (error) {
        return { error: describeError(error) };
      }
    }),
  );
  for (const outcome of outcomes) {
    if ('error' in outcome) terminal.say(`spool: ${outcome.error.text}`);
    else print(outcome);
  }
  const elsewhere = await steerElsewhere(request);
  if (outcomes.length === 0 && elsewhere === 'nothing') terminal.say('Nothing is running.');
  return worst([
    ...outcomes.map((outcome) => ('error' in outcome ? outcome.error.code : 0)),
    typeof elsewhere === 'number' ? elsewhere : 0,
  ]);
};

/** Returns an exit code, or that the queue has nothing to steer. An agent steers only what is on its machine. */
const steerElsewhere = async ({ invocation, command, project, print }: SteerRequest): Promise<number | 'nothing'> => {
  const { rawFlags, env, terminal } = invocation;
  if (rawFlags.local === true || isInsideIteration()) return 'nothing';
  const queue = await queueOf(invocation, project);
  if (queue === null) return 'nothing';
  const { steerAllQueued } = await import('../with-queue/steer-all-queued.ts');
  const confirm = rawFlags.yes || rawFlags.json ? null : confirmOn(terminal);
  let wasAsked = false;
  const agrees = async (plan: string): Promise<boolean> => {
    wasAsked = true;
    if (confirm !== null) return confirm(`${plan}?`);
    redactedTerminal(terminal, env).say(`${plan}.`);
    return true;
  };
  try {
    const outcome = await steerAllQueued(queue, { project, env, command, agrees });
    if (outcome === null) return wasAsked ? 0 : 'nothing';
    if (rawFlags.json) outcome.json.forEach((json) => print({ json, text: '' }));
    else outcome.texts.forEach((text) => print({ json: null, text }));
    return 0;
  } catch (error) {
    const { text, code } = describeError(error);
    redactedTerminal(terminal, env).say(`spool: ${text} What workers run was not changed.`);
    return code;
  }
};

/** Sends a request to the run of a change. Returns what will happen, in a sentence that does not name the change. */
export const steerRun = async (
  project: Project,
  change: string,
  { command, env }: { readonly command: ControlCommand; readonly env: NodeJS.ProcessEnv },
): Promise<string> => {
  const { effect } = outcomeOf(change, command, await steer(project, change, command, { env }));
  return `${effect.slice(0, 1).toUpperCase()}${effect.slice(1)}`;
};

/** The changes that a process works on, or has in its queue. */
const changesWith = (project: Project, ownerOf: typeof loopOwner): string[] =>
  changesWithRuns(project).filter((change) => ownerOf(project, change) !== null);

/** The changes whose run was killed, with processes that still run. */
const changesWithLeftovers = async (project: Project): Promise<string[]> => {
  const views = await Promise.all(changesWithRuns(project).map(async (id) => (await lastSaved(project, id))?.view));
  return views
    .filter((view) => view && loopOwner(project, view.change) === null && leftoversOf(project, view).length > 0)
    .map((view) => view!.change);
};

/** A run can be steered even if its change has been deleted since it started. */
const resolveRun = async (project: Project, query: string, running: readonly string[]): Promise<string> => {
  const match = matchId(query, running);
  return match.kind === 'one' ? match.id : resolveChange(project, query);
};

/** Throws for a run that does not exist or does not answer. */
const outcomeOf = (change: string, command: ControlCommand, answer: Answer): Outcome => {
  const outcome = (name: string, effect: string, view: RunView | null): Outcome => ({
    text: `${change} ${effect}`,
    effect,
    json: {
      change,
      outcome: name,
      run: view?.run ?? null,
      iteration: view?.iteration ?? null,
      status: view?.status ?? null,
    },
  });
  switch (answer.kind) {
    case 'removed':
      return outcome(
        'removed',
        `was removed from the queue of ${processText(answer.by)} and will not be started.`,
        null,
      );
    case 'queued':
      throw userError(
        'not-started',
        change,
        ownerText(answer.by, `.spool/.state/ralph/${change}/queued`),
        commandLine('spool', 'stop', change),
      );
    case 'cleaned-up':
      return outcome('cleaned-up', cleanedUpText(answer.view, answer.ended), answer.view);
    case 'not-running':
      throw notRunning(change, command, answer.view);
    case 'silent':
      throw userError('no-answer', change, ownerText(answer.owner, `.spool/.state/ralph/${change}/lock`), answerMs);
    case 'refused':
      throw userError('pauses-first', change, answer.view.iteration);
    case 'starting':
      return outcome('starting', `is still starting, and will ${verbs[command]} when it has started.`, null);
    case 'ended':
      return outcome('ended', endedText(answer.view), answer.view);
    case 'overtaken': {
      const [name, text] = answer.view.requested
        ? effectOf(command, answer.view)
        : (['running', `is not paused: another request has resumed it.`] as const);
      return outcome(name, text, answer.view);
    }
    case 'taken': {
      const [name, text] =
        command === 'resume' ? resumedFrom(answer.before, answer.view) : effectOf(command, answer.view);
      return outcome(name, text, answer.view);
    }
  }
};

const verbs: Record<ControlCommand, string> = {
  stop: 'stop',
  'stop-after-iteration': 'stop',
  pause: 'pause',
  resume: 'resume',
};

/** What a run will do, as a word for programs and as the end of a sentence about the change. */
const effectOf = (command: ControlCommand, view: RunView): readonly [string, string] => {
  const { change, iteration, finishedIterations, requested = null, pausedAt } = view;
  const resume = `Resume with: ${commandLine('spool', 'resume', change)}`;
  if (requested === 'stop')
    return ['stopping', `is stopping the agent of iteration ${iteration}. Repeat the command to kill it.`];
  if (asksToStop(requested)) {
    const now = command === 'pause' ? '' : ` To stop it now: ${commandLine('spool', 'stop', change, '--now')}`;
    return isWorking(view)
      ? ['stops', `stops after iteration ${iteration}.${now}`]
      : ['stops', `stops before iteration ${finishedIterations + 1}.`];
  }
  if (pausedAt) return ['paused', `is paused before iteration ${finishedIterations + 1}. ${resume}`];
  if (isLastIteration(view))
    return [
      'ends',
      `does not pause: iteration ${iteration} is the last one (--max-iterations ${iteration}), and the run ends with it.`,
    ];
  return ['pauses', `pauses after iteration ${iteration}, unless the run ends with it. ${resume}`];
};

const resumedFrom = (before: RunView | null, view: RunView): readonly [string, string] => {
  if (asksToStop(view.requested ?? null)) return effectOf('resume', view);
  if (before?.pausedAt) return ['resumed', `resumes with iteration ${before.finishedIterations + 1}.`];
  const now = isWorking(view) ? `iteration ${view.iteration} is running` : 'it waits for the next iteration';
  return before?.requested === 'pause'
    ? ['resumed', `continues without a pause: ${now}.`]
    : ['running', `is not paused: ${now}.`];
};

const cleanedUpText = (view: RunView, ended: number): string => {
  const processes = pluralise(ended, 'leftover process', 'leftover processes');
  return `is not running: its process died in iteration ${view.iteration}. Cleaned up ${processes}. Resume with: ${resumeCommand(view)}`;
};

const resumeCommand = (view: RunView): string =>
  commandLine('spool', 'ralph', '--change', view.change, ...(usedUp(view)?.flags ?? []));

const endedText = (view: RunView | null): string => {
  if (view === null) return 'has ended.';
  const { status, detail, change } = view;
  if (status !== 'interrupted' && status !== 'running') return `has ended: ${endWithReason(status, detail)}.`;
  return `has stopped. Resume with: ${commandLine('spool', 'ralph', '--change', change)}`;
};

const notRunning = (change: string, command: ControlCommand, view: RunView | null) => {
  if (view === null) return userError('not-running', change, '.');
  const { status, iteration } = view;
  if (status !== 'running' && status !== 'interrupted')
    return userError('not-running', change, `: its last run ${endPredicate(status)} (iteration ${iteration}).`);
  const used = usedUp(view);
  if (used && command === 'resume') return userError('limit-reached', change, used.why, resumeCommand(view));
  return userError(
    'not-running',
    change,
    `: its last run was interrupted in iteration ${iteration}. Resume with: ${resumeCommand(view)}`,
  );
};
