import { userError } from '../errors.ts';
import { matchId } from '../changes/ids.ts';
import { resolveChange } from '../changes/sources.ts';
import { asksToStop, type ControlCommand } from '../ralph/control.ts';
import { isWorking, type RunView } from '../ralph/view.ts';
import { redactedTerminal } from '../report/redacted.ts';
import { findProject, type Project } from '../store/project.ts';
import { ownerText } from '../store/run-lock.ts';
import { changesWithRuns } from '../store/runs.ts';
import { loopOwner } from '../store/state.ts';
import { type Answer, answerMs, steer } from '../store/steer.ts';
import { safeJson } from '../text/controls.ts';
import { commandLine } from '../text/shell-words.ts';
import type { Invocation } from './shared/command.ts';
import { describeError, worst } from './shared/run-exit-code.ts';

/** Sends a request to the run of a change, or to all runs of the project, and prints what will happen. */
export const steerRuns = async (
  { args: [query], rawFlags, cwd, env, ...call }: Invocation,
  command: ControlCommand,
): Promise<number> => {
  const terminal = redactedTerminal(call.terminal, env);
  const project = findProject(cwd);
  const running = runningChanges(project);
  const wholeBatch = rawFlags.all === true;
  if (wholeBatch && query !== undefined) throw userError('two-actions', '--all', 'a change');
  if (query === undefined && !wholeBatch) throw userError('run-required', running);
  if (wholeBatch && running.length === 0) terminal.log('Nothing is running.\n');
  const changes = wholeBatch ? running : [await resolveRun(project, query!, running)];
  const outcomes = await Promise.all(
    changes.map(async (change) => {
      try {
        return outcomeOf(change, command, await steer(project, change, command, { env, wholeBatch }));
      } catch (error) {
        if (!wholeBatch) throw error;
        return { error: describeError(error) };
      }
    }),
  );
  for (const outcome of outcomes) {
    if ('error' in outcome) terminal.log(`spool: ${outcome.error.text}\n`);
    else terminal.print(`${rawFlags.json ? safeJson(outcome.json) : outcome.text}\n`);
  }
  return worst(outcomes.map((outcome) => ('error' in outcome ? outcome.error.code : 0)));
};

const runningChanges = (project: Project): string[] =>
  changesWithRuns(project).filter((name) => loopOwner(project, name) !== null);

/** A run can be steered even if its change was deleted meanwhile. */
const resolveRun = async (project: Project, query: string, running: readonly string[]): Promise<string> => {
  const match = matchId(query, running);
  return match.kind === 'one' ? match.id : resolveChange(project, query);
};

interface Outcome {
  readonly text: string;
  readonly json: unknown;
}

/** Throws for a run that does not exist or does not answer. */
const outcomeOf = (change: string, command: ControlCommand, answer: Answer): Outcome => {
  const outcome = (name: string, text: string, view: RunView | null): Outcome => ({
    text: `${change} ${text}`,
    json: {
      change,
      outcome: name,
      run: view?.run ?? null,
      iteration: view?.iteration ?? null,
      status: view?.status ?? null,
    },
  });
  switch (answer.kind) {
    case 'not-running':
      throw notRunning(change, answer.view);
    case 'silent':
      throw userError('no-answer', change, ownerText(answer.owner, `.spool/.state/ralph/${change}/lock`), answerMs);
    case 'refused':
      throw userError('pauses-first', change, answer.view.iteration);
    case 'starting':
      return outcome('starting', `is still starting, and will ${verbs[command]} when it has started.`, null);
    case 'ended':
      return outcome('ended', endText(answer.view), answer.view);
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
  return ['pauses', `pauses after iteration ${iteration}. ${resume}`];
};

const resumedFrom = (before: RunView | null, view: RunView): readonly [string, string] => {
  if (asksToStop(view.requested ?? null)) return effectOf('resume', view);
  if (before?.pausedAt) return ['resumed', `resumes with iteration ${before.finishedIterations + 1}.`];
  const now = isWorking(view) ? `iteration ${view.iteration} is running` : 'it waits for the next iteration';
  return before?.requested === 'pause'
    ? ['resumed', `continues without a pause: ${now}.`]
    : ['running', `is not paused: ${now}.`];
};

const endText = (view: RunView | null): string => {
  if (view === null) return 'has ended.';
  const { status, detail, change } = view;
  if (status !== 'interrupted' && status !== 'running') return `has ended: ${status}, ${detail ?? ''}.`;
  return `has stopped. Resume with: ${commandLine('spool', 'ralph', '--change', change)}`;
};

const notRunning = (change: string, view: RunView | null) => {
  if (view === null) return userError('not-running', change, '.');
  const { status, iteration } = view;
  if (status !== 'running' && status !== 'interrupted')
    return userError('not-running', change, `: its last run is ${status} (iteration ${iteration}).`);
  const resume = commandLine('spool', 'ralph', '--change', change);
  return userError(
    'not-running',
    change,
    `: its last run was interrupted in iteration ${iteration}. Resume with: ${resume}`,
  );
};
