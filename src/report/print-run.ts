import { safeJson } from '../text/controls.ts';
import { commandLine } from '../text/shell-words.ts';
import type { HandoverNotes } from '../ralph/handover/notes.ts';
import { currentStatus, isResumable, phaseOf, type RunView } from '../ralph/view.ts';
import { cutHistory, lastRecords } from '../store/history.ts';
import type { Project } from '../store/project.ts';
import type { LockOwner } from '../store/lock-owner.ts';
import { hasHandover, loopOwner, queuedBy, loadRun } from '../store/state.ts';
import { type Canvas, canvasOf } from './canvas.ts';
import { say } from './message.ts';
import { oneLine } from './shorten.ts';
import { shownIterations } from './shown-iterations.ts';
import { type RunFacts, renderRun } from './render-run.ts';
import type { Terminal } from './terminal.ts';

export interface StatusRequest {
  readonly project: Project;
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  readonly json: boolean;
  /** Show all iterations of the run. */
  readonly all: boolean;
  /** The change is neither active nor archived any more. */
  readonly isDeleted?: boolean;
}

/** Prints the last run of a change. Reads only the end of the history, unless all iterations are requested. */
export const printRun = async (change: string, request: StatusRequest): Promise<void> => {
  const { project, terminal, json, all } = request;
  const { view: saved, damage } = await loadRun(project, change);
  if (damage !== null) say(terminal, damage);
  const alive = loopOwner(project, change) !== null;
  const known = saved && !isResumable(saved) ? await confirmed(change, saved, request) : saved;
  const view = known && withPresence(known, request.isDeleted ?? false);
  const history = view && lastRecords(project, change, all ? Infinity : shownIterations);
  if (history?.isCut && damage === null) say(terminal, cutHistory(project, change));
  const records = history === null ? [] : history.records.filter((record) => record.run === view!.run);
  const queue = alive ? null : queuedBy(project, change);
  if (json) {
    const status = queue ? 'queued' : view && currentStatus(view, alive);
    const phase = view === null || !alive ? null : phaseOf(view);
    const queued = queue && { pid: queue.pid, host: queue.host, since: queue.since };
    const leftovers =
      status === 'interrupted' ? (await import('../store/leftovers.ts')).leftoversOf(project, view!) : [];
    const handover = view && (await keptNotes(change, request));
    return terminal.printResult(
      `${safeJson({ change, status, phase, queued, view, leftovers, handover, iterations: records })}\n`,
    );
  }
  if (queue !== null)
    terminal.printResult(
      `${(await queueLines(change, queue, canvasOf(terminal))).join('\n')}\n${view === null ? '' : '\n'}`,
    );
  if (view === null && queue !== null) return;
  if (view === null)
    return terminal.printResult(
      `${change}: no run yet, 0 iterations. Start one with "${commandLine('spool', 'ralph', '--change', change)}".\n`,
    );
  const { shown, facts } = await currentFacts(view, { ...request, alive });
  const kept = hasHandover(project, change) ? { handover: await keptNotes(change, request) } : {};
  const isLanded = await wasLanded(shown, project);
  const lines = renderRun(shown, { ...facts, ...kept, records, alive, isLanded, table: true }, canvasOf(terminal));
  terminal.printResult(`${lines.join('\n')}\n`);
};

/** Whether the branch of a run was landed; it may have more commits since. Imported only when needed. */
const wasLanded = async ({ change, run, status, workspace }: RunView, project: Project): Promise<boolean> =>
  status === 'complete' &&
  Boolean(workspace?.branch) &&
  (await import('../store/landed.ts')).readLanded(project, change)?.run === run;

/** The notes for the next iteration. Imported only when needed. */
const keptNotes = async (
  change: string,
  { project, env }: Pick<StatusRequest, 'project' | 'env'>,
): Promise<HandoverNotes> => (await import('../store/handover.ts')).loadHandover({ project, change, env });

/** A change that a batch has not started yet. Imported only when needed. */
const queueLines = async (change: string, owner: LockOwner, { style, symbols }: Canvas): Promise<string[]> => {
  const { queueText } = await import('../store/run-lock.ts');
  return [
    `${style('dim', symbols.queued)} ${style('bold', oneLine(change))}  Queued: ${queueText(owner, new Date())}.`,
    '',
    `  ${style('dim', 'Remove     ')} ${commandLine('spool', 'stop', change)}`,
  ];
};

/** The change may have been deleted or restored since the run ended. */
const withPresence = (view: RunView, isDeleted: boolean): RunView => {
  const { changeDeleted: _, ...rest } = view;
  return isDeleted ? { ...rest, changeDeleted: true } : rest;
};

/** Compares a finished run with the user state. Imported only when needed, for a fast start. */
const confirmed = async (
  change: string,
  saved: RunView,
  { project, terminal, env }: Pick<StatusRequest, 'project' | 'terminal' | 'env'>,
): Promise<RunView> => {
  const [{ asRecorded }, { isKnown }, { userStateFolder }] = await Promise.all([
    import('../store/user-state/steps.ts'),
    import('../store/user-state/identity.ts'),
    import('../store/user-state/folder.ts'),
  ]);
  const folder = userStateFolder(project, change, env);
  if (saved.status === 'complete' && !isKnown(folder, saved))
    say(terminal, `The last run of ${change} was not started here. Only its state.json says that it is complete.`);
  const view = asRecorded(folder, saved);
  if (view !== saved)
    say(terminal, `state.json says that ${change} is ${saved.status}, but Spool has no record of that and ignores it.`);
  return view;
};

/** Looks up what state.json does not say about a run that has not ended or has open tasks. Imported only when needed. */
const currentFacts = async (
  view: RunView,
  { project, env, alive }: Pick<StatusRequest, 'project' | 'env'> & { readonly alive: boolean },
): Promise<{
  readonly shown: RunView;
  readonly facts: Pick<RunFacts, 'tasks' | 'openTasks' | 'activity' | 'leftovers' | 'now'>;
}> => {
  const now = new Date();
  const isOver = view.status !== 'running' && (view.tasks === null || view.tasks.done >= view.tasks.total);
  if (isOver) return { shown: view, facts: { now } };
  const { factsOf } = await import('./run-facts.ts');
  return factsOf(view, { project, env, alive, now });
};
