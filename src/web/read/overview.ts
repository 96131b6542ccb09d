import { basename } from 'node:path';
import { sourceProblems } from '../../changes/sources.ts';
import { lastSaved } from '../../changes/tasks/current.ts';
import { asUserError } from '../../errors.ts';
import { currentBranch } from '../../git/branches.ts';
import { type RunRow, withoutRun } from '../../ralph/run-row.ts';
import { type ChangeRow, readChangeRows } from '../../report/read-change-rows.ts';
import { byActivity, createRowReader } from '../../report/read-run-rows.ts';
import { stateStamp } from '../../store/state.ts';
import { version } from '../../text/version.ts';
import type { IterationSummary, Overview, Row } from '../api.ts';
import { attentionOf } from './attention.ts';
import { createCache } from './cache.ts';
import type { History } from './history.ts';
import { createShared } from './shared.ts';
import type { Subject } from './subject.ts';

export interface OverviewReader {
  read(): Promise<Overview>;
  /** The row of one change; null if there is no such change. */
  row(change: string): Promise<Row | null>;
  /** Something was changed: what is read rarely is read again. */
  drop(): void;
}

export interface OverviewOptions extends Subject {
  readonly readOnly: boolean;
  readonly histories: (change: string) => History;
}

/** The maximum age of what changes rarely and takes several calls of git: sources, modules and branches. */
const changesMs = 5000;
const remoteMs = 2000;
const maxSpark = 60;

export const createOverviewReader = (options: OverviewOptions): OverviewReader => {
  const { project, env, redactor, remote, readOnly } = options;
  const readRows = createRowReader({ project, env, redactor });
  const extrasOf = createExtras(options);
  const changes = createShared(async () => {
    const [all, problems, branch] = await Promise.all([
      readChangeRows(project, env),
      sourceProblems(project),
      currentBranch(project.root).catch(() => null),
    ]);
    return { all: new Map(all.map((each) => [each.id, each])), problems, branch };
  }, changesMs);
  const remoteRows = createShared(async () => {
    try {
      return (await remote?.rows()) ?? { rows: [], warnings: [] };
    } catch (error) {
      const known = asUserError(error);
      if (known === null) throw error;
      return { rows: [], warnings: [`${known.message} Only this machine is shown.`] };
    }
  }, remoteMs);

  const read = async (): Promise<Overview> => {
    const now = new Date();
    const [known, local, others] = await Promise.all([changes.get(), readRows(now), remoteRows.get()]);
    const isRemote = new Set(others.rows.map(({ change }) => change));
    const runs = [...local.filter(({ change }) => !isRemote.has(change)), ...others.rows].toSorted(byActivity);
    const rows = await Promise.all(runs.map(async (row) => rowOf(row, known.all.get(row.change), await extrasOf(row))));
    const isShown = new Set(rows.map(({ change }) => change));
    const idle = [...known.all.values()].filter(({ id }) => !isShown.has(id)).map(idleRow);
    return {
      project: { name: basename(project.root), root: project.root, branch: known.branch },
      version,
      readOnly,
      queue: remote !== null,
      warnings: [...known.problems, ...others.warnings],
      rows: [...rows, ...idle],
      now: now.toISOString(),
    };
  };
  return {
    read,
    row: async (change) => (await read()).rows.find((row) => row.change === change) ?? null,
    drop: () => {
      changes.drop();
      remoteRows.drop();
    },
  };
};

/** What a row needs besides the row of `spool status`. */
interface Extras {
  readonly branch: string | null;
  readonly iterations: readonly IterationSummary[];
  /** Why the history cannot be read; null if it can. */
  readonly problem: string | null;
}

/** Reads the extras of a run again only if its state has changed. */
const createExtras = ({ project, histories }: OverviewOptions) => {
  const known = createCache<{ stamp: string; extras: Promise<Extras> | null }>(1000);
  const read = async ({ change, run }: RunRow): Promise<Extras> => {
    try {
      const view = (await lastSaved(project, change))?.view ?? null;
      const iterations = run === null ? [] : ((await histories(change).runs()).get(run) ?? []);
      const branch = view?.workspace?.branch ?? null;
      return { branch, iterations: iterations.slice(-maxSpark), problem: null };
    } catch (error) {
      // The other changes are shown all the same.
      return { branch: null, iterations: [], problem: asUserError(error)?.message ?? String(error) };
    }
  };
  return (row: RunRow): Promise<Extras> => {
    const entry = known.get(row.change, () => ({ stamp: '', extras: null }));
    const stamp = `${row.run} ${stateStamp(project, row.change)}`;
    if (entry.stamp === stamp && entry.extras !== null) return entry.extras;
    const extras = read(row);
    Object.assign(entry, { stamp, extras });
    // A file that was replaced may be put back at any time.
    void extras.then(({ problem }) => problem !== null && Object.assign(entry, { stamp: '' }));
    return extras;
  };
};

const rowOf = (row: RunRow, change: ChangeRow | undefined, extras: Extras): Row => {
  const { branch, iterations } = extras;
  const remote = row.remote ?? null;
  const problem = change?.problem ?? extras.problem;
  const facts = { ...row, remote, problem, last: iterations.at(-1) ?? null };
  return {
    ...row,
    source: change?.source ?? null,
    module: change?.module ?? null,
    landed: change?.lastRun?.run === row.run ? (change?.lastRun?.landed ?? null) : null,
    branch,
    attention: attentionOf(facts),
    spark: iterations.flatMap(({ tasks }) => (tasks === null ? [] : [tasks.done])),
    remote,
    problem,
  };
};

/** A change that was never run. */
const idleRow = ({ id, source, module, tasks, problem }: ChangeRow): Row => ({
  ...withoutRun,
  change: id,
  source,
  module,
  status: 'none',
  tasks,
  landed: null,
  branch: null,
  attention: problem === null ? null : { kind: 'problem', text: problem },
  spark: [],
  remote: null,
  problem,
});
