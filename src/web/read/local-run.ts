import { followRun } from '../../store/follow.ts';
import { findCheckpoints } from '../../store/saved-checkpoints.ts';
import { iterationLog, iterationPrompt, runFolder } from '../../store/paths.ts';
import { loopOwner, stateStamp } from '../../store/state.ts';
import type { Row } from '../api.ts';
import { notFound } from '../http/refusal.ts';
import type { createConversations } from './conversation.ts';
import type { History } from './history.ts';
import type { RunReader } from './run.ts';
import type { RunSource } from './run-source.ts';
import type { Subject } from './subject.ts';
import { readTextPage } from './text-page.ts';

export interface LocalReaders extends Subject {
  readonly histories: (change: string) => History;
  readonly conversations: ReturnType<typeof createConversations>;
  readonly runs: RunReader;
  readonly rowOf: (change: string) => Promise<Row | null>;
  /** An index of git that only this process uses. */
  readonly indexFile: () => string;
}

/** A run whose files are on this machine. The ids must be known ones. */
export const localRun = (readers: LocalReaders, change: string, run: string): RunSource => {
  const { project, env, redactor, histories, conversations, runs, rowOf, indexFile } = readers;
  const folder = runFolder(project, change, run);
  return {
    change,
    run,
    detail: async () => {
      const row = await rowOf(change);
      if (row === null) throw notFound('There is no such change.');
      return runs.run(row, run);
    },
    iterations: async () => (await histories(change).runs()).get(run) ?? [],
    record: (iteration) => histories(change).record(run, iteration),
    conversation: (request) => conversations({ ...request, change, run }),
    text: (iteration, what, request) =>
      readTextPage(redactor, (what === 'log' ? iterationLog : iterationPrompt)(folder, iteration), request),
    checkpoints: () => findCheckpoints({ project, change, wanted: run, env, say: () => {}, indexFile: indexFile() }),
    tasks: () => runs.tasks(change),
    follow: (request) => followRun(project, change, { ...request, run, env }),
    stamp: async () => `${stateStamp(project, change)} ${loopOwner(project, change)?.pid ?? ''}`,
  };
};
