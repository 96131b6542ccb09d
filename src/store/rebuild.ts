import type { IterationRecord } from '../ralph/record.ts';
import { rebuildView, viewOfRecords } from '../ralph/rebuild.ts';
import { folderNames } from '../files/read.ts';
import { type Project } from './project.ts';
import { cutHistory, lastRunRecords } from './history.ts';
import { readStart, type LoadedRun } from './state.ts';
import { runsFolder } from './paths.ts';

/** Rebuilds the last run of a change whose state.json is damaged, from start.json and the history. */
export const rebuildRun = (project: Project, change: string, file: string): LoadedRun => {
  const { records: inHistory, isCut } = lastRunRecords(project, change);
  const cut = isCut ? ` ${cutHistory(project, change)}` : '';
  const run = newestRun(project, change, inHistory);
  const [first, ...others] = inHistory.filter((record) => record.run === run);
  const start = run === null ? null : readStart(project, change, run);
  const own = start && { ...start, change };
  if (!first) {
    const damage = `${file} is damaged, and no iteration of its run is in the history: the next start is a new run.${cut}`;
    return { view: own && rebuildView(own, []), damage, hasSettings: false };
  }
  const records = [first, ...others] as const;
  const found = `${file} is damaged; rebuilt from the history (${iterations(records.length)})`;
  if (own) return { view: rebuildView(own, records), damage: `${found}.${cut}`, hasSettings: true };
  const damage = `${found}, but its settings are not known: the next start is a new run.${cut}`;
  return { view: viewOfRecords(change, records), damage, hasSettings: false };
};

/** Run ids sort by time, to the second. The last run may not have a record yet. */
const newestRun = (project: Project, change: string, records: readonly IterationRecord[]): string | null => {
  const folders = folderNames(runsFolder(project, change));
  const recorded = records.slice(-1).map(({ run }) => run);
  const runs = [...new Set([...folders, ...recorded])].toSorted();
  const sameSecond = runs.filter((run) => secondOf(run) === secondOf(runs.at(-1)!));
  if (sameSecond.length < 2) return runs.at(-1) ?? null;
  const starts = sameSecond.map((run) => readStart(project, change, run));
  const sorted = starts.filter((start) => start !== null).toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  return sorted.at(-1)?.run ?? runs.at(-1)!;
};

/** `20261115-070312-9f3a01c2` → `20261115-070312` */
const secondOf = (run: string) => run.slice(0, 15);

const iterations = (count: number) => (count === 1 ? '1 iteration' : `${count} iterations`);
