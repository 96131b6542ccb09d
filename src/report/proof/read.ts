import { scenariosOf } from '../../changes/scenarios/scenarios.ts';
import type { Change } from '../../changes/source.ts';
import { archivedChange, changeOf, deletedChanges, listArchived, listChanges } from '../../changes/sources.ts';
import { currentTasks } from '../../changes/tasks/current.ts';
import { readTasks } from '../../changes/tasks/read.ts';
import { titleOf } from '../../changes/title.ts';
import { countProof, currentRows } from '../../ralph/ledger.ts';
import type { Ledger, ScenarioProof } from '../../ralph/proof.ts';
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
 * Reads the proof of a change, active, archived or deleted. Not redacted. A deleted change has the scenarios that its
 * last gate knew.
 */
export const readProof = async (ref: ChangeRef): Promise<ProofReport> => {
  const { project, change: id, env } = ref;
  const { view: saved } = await readRun(project, id);
  const run = saved && withStatus(ref, asRecorded(userRecordFolder(project, id, env), saved));
  const { change, archived } = await findChange(ref, saved?.source ?? null);
  const ledger = readLedger(ref);
  const scenarios = change === null ? (ledger?.scenarios ?? []) : currentScenarios(change, project.root, ledger);
  const tasks = change && (archived ? readTasks(change, project.root) : await currentTasks(project, change, run));
  const records = run === null ? [] : lastRecords(project, id, maxRecords).records.filter((one) => one.run === run.run);
  return {
    change: id,
    title: change && titleOf(change, project.root),
    archived,
    scenarios,
    count: countProof(scenarios),
    unknown: ledger?.unknown ?? [],
    gate: ledger && { run: ledger.run, iteration: ledger.iteration, at: ledger.at },
    tasks: (tasks ?? []).map(({ title, done, optional }) => ({ title, done, optional })),
    run,
    records,
  };
};

/** The scenarios of a change as they are now, with what its last gate has proven. */
export const currentScenarios = (change: Change, root: string, ledger: Ledger | null): ScenarioProof[] =>
  currentRows(scenariosOf(change, root), ledger);

const withStatus = ({ project, change }: ChangeRef, view: RunView): RunView => ({
  ...view,
  status: currentStatus(view, loopOwner(project, change) !== null),
});

/** The change is null if it was deleted. */
const findChange = async (
  { project, change: id }: ChangeRef,
  source: string | null,
): Promise<{ readonly change: Change | null; readonly archived: boolean }> => {
  if ((await listChanges(project)).includes(id))
    return { change: await changeOf(project, id, source), archived: false };
  if ((await listArchived(project)).includes(id)) return { change: await archivedChange(project, id), archived: true };
  const isDeleted = (await deletedChanges(project)).includes(id);
  return { change: isDeleted ? null : await changeOf(project, id, source), archived: false };
};
