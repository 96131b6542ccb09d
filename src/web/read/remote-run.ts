import { spentUsage } from '../../ralph/usage.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import type { ComparedCheckpoints } from '../../store/saved-checkpoints.ts';
import type { ConversationPage, Row, RunDetail } from '../api.ts';
import { badRequest, notFound } from '../http/refusal.ts';
import type { RemoteRun } from '../remote.ts';
import type { LocalReaders } from './local-run.ts';
import { createShared } from './shared.ts';
import type { ConversationRequest, RunSource } from './run-source.ts';
import { summarise } from './summarise.ts';
import { textPageOf } from './text-page.ts';

/** The maximum age of a cached answer of the queue. */
const maxAgeMs = 1000;

interface RemoteRunOptions {
  readonly change: string;
  readonly run: string;
  /** Asks the queue again. */
  readonly find: () => Promise<RemoteRun | null>;
}

/** A run that a worker has. */
export const remoteRun = (readers: LocalReaders, { change, run, find }: RemoteRunOptions): RunSource => {
  const found = createShared(async () => {
    const remote = await find();
    if (remote === null) throw notFound('The queue does not have this run any more.');
    return remote;
  }, maxAgeMs);
  const records = createShared(async () => (await found.get()).records(), maxAgeMs);
  return {
    change,
    run,
    detail: async () => {
      const [row, remote, all] = await Promise.all([readers.rowOf(change), found.get(), records.get()]);
      if (row === null) throw notFound('There is no such change.');
      return detailOf(readers, { row, run, remote, iterations: all.length });
    },
    iterations: async () => (await records.get()).map(summarise),
    record: async (iteration) => (await records.get()).findLast((each) => each.iteration === iteration) ?? null,
    conversation: async ({ iteration, ...cursors }) =>
      pageOf(await (await found.get()).entries(iteration, windowOf(cursors))),
    text: async (iteration, what, request) => {
      const contents = await (await found.get()).file(iteration, what);
      return contents && textPageOf(readers.redactor, contents, request);
    },
    checkpoints: async () => checkpointsOf(readers, await found.get(), { change, run }),
    tasks: async () => null,
    follow: async function* (request) {
      const remote = await found.get();
      yield* remote.follow(request);
    },
    stamp: async () => {
      const { row } = await found.get();
      return `${row.run} ${row.status} ${row.startedAt}`;
    },
  };
};

interface FoundRun {
  readonly row: Row;
  readonly run: string;
  readonly remote: RemoteRun;
  /** The number of iterations in its history. */
  readonly iterations: number;
}

const detailOf = async ({ runs }: LocalReaders, { row, run, remote, iterations }: FoundRun): Promise<RunDetail> => {
  const { view } = remote;
  // The overview may be older than what the queue has just said.
  const now = { ...row, ...remote.row, remote: remote.row.remote ?? null };
  return {
    ...(await runs.change(now)),
    runs: [
      {
        run,
        startedAt: view?.startedAt ?? null,
        status: view?.status ?? null,
        iterations,
        usage: view && spentUsage(view),
      },
    ],
    run,
    isLatest: view?.run === run,
    view,
    status: now.status,
    activity: null,
    lastIteration: view?.iteration ?? 0,
    checkpoints: [],
    leftovers: [],
    now: new Date().toISOString(),
  };
};

const checkpointsOf = async (
  { project, env }: LocalReaders,
  remote: RemoteRun,
  { change, run }: Pick<RunSource, 'change' | 'run'>,
): Promise<ComparedCheckpoints> => {
  const pushed = await remote.checkpoints();
  if ('why' in pushed) throw notFound(`The checkpoints of this run cannot be fetched: ${pushed.why}.`);
  const own = pushed.checkpoints.filter((checkpoint) => checkpoint.run === run);
  return {
    change,
    tree: { root: pushed.mirror, isBare: true },
    userState: userStateFolder(project, change, env),
    checkpoints: new Map(own.map((checkpoint) => [checkpoint.name, checkpoint])),
  };
};

const windowOf = ({ after, before }: Pick<ConversationRequest, 'after' | 'before'>) =>
  before === null ? { after: numberOf(after ?? '0') } : { before: before === 'end' ? null : numberOf(before) };

/** A cursor is the number of an entry. */
const numberOf = (cursor: string): number => {
  if (!/^\d{1,15}$/.test(cursor)) throw badRequest('The cursor is not valid.');
  return Number(cursor);
};

const pageOf = ({ entries, first, last }: Awaited<ReturnType<RemoteRun['entries']>>): ConversationPage => ({
  entries,
  previous: first === null ? null : String(first),
  next: last === null ? null : String(last),
  position: { start: 0, end: entries.length, size: entries.length },
});
