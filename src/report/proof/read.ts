import { scenariosOf } from '../../changes/scenarios/scenarios.ts';
import type { Change } from '../../changes/source.ts';
import { archivedChange, changeOf, deletedChanges, listArchived, listChanges } from '../../changes/sources.ts';
import { currentTasks } from '../../changes/tasks/current.ts';
import { readTasks } from '../../changes/tasks/read.ts';
import { titleOf } from '../../changes/title.ts';
import { countProof, currentRows } from '../../ralph/ledger.ts';
import type { Ledger } from '../../ralph/proof.ts';
import { currentStatus, type RunView } from '../../ralph/view.ts';
import type { ChangeRef } from '../../store/change-ref.ts';
import { lastRecords } from '../../store/history.ts';
import { readLanded } from '../../store/landed.ts';
import { loopOwner, loadRun } from '../../store/state.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { readLedger } from '../../store/user-state/ledger.ts';
import { asRecorded } from '../../store/user-state/steps.ts';
import type { CheckedBy, ProofReport, SentRun } from './report.ts';

/** The last iterations are enough for tables and charts. */
const maxRecords = 5000;

/**
 * Reads the proof of a change, active, archived or deleted, and its last run: that of this machine, or the one that a
 * worker has. Not redacted.
 */
export const readProof = async (ref: ChangeRef, sent: SentRun | null = null): Promise<ProofReport> => {
  const { project } = ref;
  const run = sent === null ? await lastRun(ref) : sent.view;
  const found = await findChange(ref, run?.source ?? null);
  const { change, archived } = found;
  return {
    change: ref.change,
    title: change && titleOf(change, project.root),
    archived,
    landed: sent === null && run !== null && readLanded(project, ref.change)?.run === run.run,
    ...scenariosIn(ref, found, sent === null ? readLedger(ref) : sent.ledger),
    tasks: sent === null ? await tasksIn(ref, found, run) : [],
    run,
    records: sent === null ? recordsOf(ref, run) : sent.records,
  };
};

/**
 * Reads the scenarios of a change as they are now, with what its last gate has proven: one of this machine, or that of
 * the worker who has the change. Not redacted.
 */
export const readScenarios = async (
  ref: ChangeRef,
  sent: Pick<SentRun, 'ledger' | 'view'> | null = null,
): Promise<ReportedScenarios> => {
  const run = sent === null ? await lastRun(ref) : sent.view;
  return scenariosIn(ref, await findChange(ref, run?.source ?? null), sent === null ? readLedger(ref) : sent.ledger);
};

type ReportedScenarios = Pick<ProofReport, 'scenarios' | 'count' | 'unknown' | 'gate'>;

/** A deleted change has the scenarios that its last gate knew, and so has one that only workers have. */
const scenariosIn = (ref: ChangeRef, { change, isHere }: FoundChange, ledger: Ledger | null): ReportedScenarios => {
  const now = change === null ? [] : scenariosOf(change, ref.project.root);
  const scenarios = isHere || now.length > 0 ? currentRows(now, ledger) : (ledger?.scenarios ?? []);
  return {
    scenarios,
    count: countProof(scenarios),
    unknown: ledger?.unknown ?? [],
    gate: ledger && gateOf(ledger),
  };
};

const gateOf = ({ run, iteration, at, worker }: Ledger): CheckedBy => ({
  run,
  iteration,
  at,
  ...(worker && { worker }),
});

const tasksIn = async (
  { project }: ChangeRef,
  { change, archived }: FoundChange,
  run: RunView | null,
): Promise<ProofReport['tasks']> => {
  const tasks = change && (archived ? readTasks(change, project.root) : await currentTasks(project, change, run));
  return (tasks ?? []).map(({ title, done, optional }) => ({ title, done, optional }));
};

const recordsOf = ({ project, change }: ChangeRef, run: RunView | null): ProofReport['records'] =>
  run === null ? [] : lastRecords(project, change, maxRecords).records.filter((one) => one.run === run.run);

const lastRun = async ({ project, change, env }: ChangeRef): Promise<RunView | null> => {
  const { view } = await loadRun(project, change);
  if (view === null) return null;
  const recorded = asRecorded(userStateFolder(project, change, env), view);
  return { ...recorded, status: currentStatus(recorded, loopOwner(project, change) !== null) };
};

interface FoundChange {
  /** null if it was deleted. */
  readonly change: Change | null;
  readonly archived: boolean;
  /** Whether this checkout has it. */
  readonly isHere: boolean;
}

const findChange = async ({ project, change: id }: ChangeRef, source: string | null): Promise<FoundChange> => {
  if ((await listChanges(project)).includes(id))
    return { change: await changeOf(project, id, source), archived: false, isHere: true };
  if ((await listArchived(project)).includes(id))
    return { change: await archivedChange(project, id), archived: true, isHere: true };
  const isDeleted = (await deletedChanges(project)).includes(id);
  return { change: isDeleted ? null : await changeOf(project, id, source), archived: false, isHere: false };
};
