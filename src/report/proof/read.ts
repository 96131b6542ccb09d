import { scenariosOf } from '../../changes/scenarios/scenarios.ts';
import type { Change } from '../../changes/source.ts';
import { archivedChange, changeOf, deletedChanges, listArchived, listChanges } from '../../changes/sources.ts';
import { currentTasks } from '../../changes/tasks/current.ts';
import { readTasks } from '../../changes/tasks/read.ts';
import { titleOf } from '../../changes/title.ts';
import { countProof, currentRows } from '../../ralph/ledger.ts';
import { currentStatus, type RunView } from '../../ralph/view.ts';
import type { ChangeRef } from '../../store/change-ref.ts';
import { lastRecords } from '../../store/history.ts';
import { loopOwner, readRun } from '../../store/state.ts';
import { userRecordFolder } from '../../store/user-record/folder.ts';
import { readLedger } from '../../store/user-record/ledger.ts';
import { asRecorded } from '../../store/user-record/steps.ts';
import type { ProofReport } from './report.ts';

/** The last iterations are enough for tables and charts. */
const maxRecords = 5000;

/**
 * Reads the proof of a change, active, archived or deleted, and its last run. Not redacted.
 */
export const readProof = async (ref: ChangeRef): Promise<ProofReport> => {
  const { project, change: id } = ref;
  const run = await lastRun(ref);
  const found = await findChange(ref, run?.source ?? null);
  const { change, archived } = found;
  const tasks = change && (archived ? readTasks(change, project.root) : await currentTasks(project, change, run));
  const records = run === null ? [] : lastRecords(project, id, maxRecords).records.filter((one) => one.run === run.run);
  return {
    change: id,
    title: change && titleOf(change, project.root),
    archived,
    ...scenariosIn(ref, found),
    tasks: (tasks ?? []).map(({ title, done, optional }) => ({ title, done, optional })),
    run,
    records,
  };
};

/** Reads the scenarios of a change as they are now, with what its last gate has proven. Not redacted. */
export const readScenarios = async (ref: ChangeRef): Promise<ReportedScenarios> =>
  scenariosIn(ref, await findChange(ref, (await lastRun(ref))?.source ?? null));

type ReportedScenarios = Pick<ProofReport, 'scenarios' | 'count' | 'unknown' | 'gate'>;

/** A deleted change has the scenarios that its last gate knew. */
const scenariosIn = (ref: ChangeRef, { change }: FoundChange): ReportedScenarios => {
  const ledger = readLedger(ref);
  const scenarios =
    change === null ? (ledger?.scenarios ?? []) : currentRows(scenariosOf(change, ref.project.root), ledger);
  return {
    scenarios,
    count: countProof(scenarios),
    unknown: ledger?.unknown ?? [],
    gate: ledger && { run: ledger.run, iteration: ledger.iteration, at: ledger.at },
  };
};

const lastRun = async ({ project, change, env }: ChangeRef): Promise<RunView | null> => {
  const { view } = await readRun(project, change);
  if (view === null) return null;
  const recorded = asRecorded(userRecordFolder(project, change, env), view);
  return { ...recorded, status: currentStatus(recorded, loopOwner(project, change) !== null) };
};

interface FoundChange {
  /** null if it was deleted. */
  readonly change: Change | null;
  readonly archived: boolean;
}

const findChange = async ({ project, change: id }: ChangeRef, source: string | null): Promise<FoundChange> => {
  if ((await listChanges(project)).includes(id))
    return { change: await changeOf(project, id, source), archived: false };
  if ((await listArchived(project)).includes(id)) return { change: await archivedChange(project, id), archived: true };
  const isDeleted = (await deletedChanges(project)).includes(id);
  return { change: isDeleted ? null : await changeOf(project, id, source), archived: false };
};
