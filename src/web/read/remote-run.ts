import { userRecordFolder } from '../../store/user-record/folder.ts';
import type { ConversationPage, RemoteState, RunDetail } from '../api.ts';
import { badRequest, notFound } from '../http/refusal.ts';
import type { RemoteRun } from '../remote.ts';
import type { LocalReaders } from './local-run.ts';
import { createShared } from './shared.ts';
import type { RunSource } from './run-source.ts';
import { summarise } from './summarise.ts';
import { textPageOf } from './text-page.ts';

/** The maximum age of a cached answer of the queue. */
const maxAgeMs = 1000;

/** A run that a worker has. `find` asks the queue again. */
export const remoteRun = (
  { project, env, redactor, rowOf, runs }: LocalReaders,
  {
    change,
    run,
    find,
  }: { readonly change: string; readonly run: string; readonly find: () => Promise<RemoteRun | null> },
): RunSource => {
  const found = createShared(async () => {
    const remote = await find();
    if (remote === null) throw notFound('The queue does not have this run any more.');
    return remote;
  }, maxAgeMs);
  const records = createShared(async () => (await found.get()).records(), maxAgeMs);
  return {
    change,
    run,
    detail: async (): Promise<RunDetail> => {
      const [row, remote, all] = await Promise.all([rowOf(change), found.get(), records.get()]);
      if (row === null) throw notFound('There is no such change.');
      const { view } = remote;
      // The overview may be older than what the queue has just said.
      const now = { ...row, ...remote.row, remote: remote.row.remote as RemoteState };
      const base = await runs.change(now);
      return {
        ...base,
        runs: [
          {
            run,
            startedAt: view?.startedAt ?? null,
            status: view?.status ?? null,
            iterations: all.length,
            usage: view?.usage ?? null,
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
    },
    iterations: async () => (await records.get()).map(summarise),
    record: async (iteration) => (await records.get()).findLast((each) => each.iteration === iteration) ?? null,
    conversation: async ({ iteration, after, before }) => {
      const remote = await found.get();
      const window =
        before === null ? { after: numberOf(after ?? '0') } : { before: before === 'end' ? null : numberOf(before) };
      return pageOf(await remote.entries(iteration, window));
    },
    text: async (iteration, what, request) => {
      const contents = await (await found.get()).file(iteration, what);
      return contents && textPageOf(redactor, contents, request);
    },
    checkpoints: async () => {
      const pushed = await (await found.get()).checkpoints();
      if ('why' in pushed) throw notFound(`The checkpoints of this run cannot be fetched: ${pushed.why}.`);
      const own = pushed.checkpoints.filter((checkpoint) => checkpoint.run === run);
      return {
        change,
        tree: { root: pushed.mirror, isBare: true },
        recordFolder: userRecordFolder(project, change, env),
        checkpoints: new Map(own.map((checkpoint) => [checkpoint.name, checkpoint])),
      };
    },
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
