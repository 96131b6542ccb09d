import type { IterationRecord } from '../../ralph/record.ts';
import { maxRecordBytes, parseHistoryLine } from '../../store/history.ts';
import { historyFile } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import { createLineIndex, type LinePlace, readPart } from '../../store/scan-lines.ts';
import type { IterationSummary } from '../api.ts';
import { createCache } from './cache.ts';
import { summarise } from './summarise.ts';

/** The history of a change, of which only summaries are kept in memory. */
export interface History {
  /** The runs in it, oldest first, with their iterations. */
  runs(): Promise<ReadonlyMap<string, readonly IterationSummary[]>>;
  /** One whole record; null if there is none. */
  record(run: string, iteration: number): Promise<IterationRecord | null>;
}

interface Entry {
  readonly run: string;
  readonly place: LinePlace;
  readonly summary: IterationSummary;
}

/** Returns the history of a change. Reads only what was added since the last time. */
export const createHistories = (project: Project): ((change: string) => History) => {
  const known = createCache<History>();
  return (change) => known.get(change, () => openHistory(project, change));
};

const openHistory = (project: Project, change: string): History => {
  const index = createLineIndex<Entry>(historyFile(project, change), ({ offset, length, head }, file) => {
    if (!head.startsWith('{') || length > maxRecordBytes) return null;
    const record = parseHistoryLine(readPart(file, { offset, length }).toString('utf8'));
    return record && { run: record.run, place: { offset, length }, summary: summarise(record) };
  });
  return {
    runs: async () => {
      const runs = new Map<string, IterationSummary[]>();
      await index.use((_, entries) => {
        for (const { run, summary } of entries) {
          const own = runs.get(run) ?? [];
          own.push(summary);
          runs.set(run, own);
        }
      });
      return runs;
    },
    record: (run, iteration) =>
      index.use((file, entries) => {
        const found = entries.findLast((entry) => entry.run === run && entry.summary.iteration === iteration);
        return found ? parseHistoryLine(readPart(file, found.place).toString('utf8')) : null;
      }),
  };
};
