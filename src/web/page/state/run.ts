import { useEffect, useState } from 'preact/hooks';
import type { ChangeDetail, IterationPage, IterationSummary, JournalEntry, RunDetail, RunMessage } from '../../api.ts';
import { type Answer, get, type Problem, runPath } from './client.ts';
import { setServerTime } from './clock.ts';
import { createStore, type Store, useStore } from './store.ts';
import { openStream } from './stream.ts';

export interface RunState {
  readonly detail: RunDetail;
  /** By number, without gaps as far as they are loaded. The one in progress is not among them. */
  readonly iterations: readonly IterationSummary[];
  /** Older ones are still being loaded. */
  readonly isLoading: boolean;
  /** What the stream has sent since it was opened, oldest first. */
  readonly entries: readonly JournalEntry[];
  /** How often the stream could not resume, so that everything has to be read again. */
  readonly snapshots: number;
  /** The newer run of the change. */
  readonly supersededBy: string | null;
}

const pageSize = 500;
/** More than an iteration keeps in the journal. */
const maxEntries = 20_000;

/** Follows a run while the component is shown. */
export const useRun = (
  change: string,
  run: string,
): { readonly state: RunState | null; readonly problem: Problem | null } => {
  const [followed, setFollowed] = useState<Followed | null>(null);
  useEffect(() => {
    const next = followRun(change, run);
    setFollowed(next);
    return () => {
      setFollowed(null);
      next.close();
    };
  }, [change, run]);
  const state = useStore(followed?.state ?? nothing);
  const problem = useStore(followed?.problem ?? noProblem);
  return { state, problem };
};

const nothing: Store<RunState | null> = createStore<RunState | null>(null);
const noProblem: Store<Problem | null> = createStore<Problem | null>(null);

interface Followed {
  readonly state: Store<RunState | null>;
  readonly problem: Store<Problem | null>;
  readonly close: () => void;
}

const followRun = (change: string, run: string): Followed => {
  const state = createStore<RunState | null>(null);
  const problem = createStore<Problem | null>(null);
  const path = runPath(change, run);
  const abort = new AbortController();

  const update = (edit: (last: RunState) => RunState) => {
    const last = state.get();
    if (last !== null) state.set(edit(last));
  };
  const take = (detail: RunDetail, isSnapshot: boolean) => {
    if (detail.now !== '') setServerTime(detail.now);
    problem.set(null);
    const last = state.get();
    const isSame = last?.detail.run === detail.run;
    state.set({
      detail,
      iterations: isSame ? last.iterations : [],
      isLoading: last === null || !isSame,
      entries: isSame && !isSnapshot ? last.entries : [],
      snapshots: (last?.snapshots ?? 0) + (isSnapshot ? 1 : 0),
      supersededBy: null,
    });
    if (detail.lastIteration > 0) void loadIterations();
    else update((last) => ({ ...last, isLoading: false }));
  };

  /** The latest ones first. Each answer is shown as soon as it is there. */
  const loadIterations = async () => {
    const known = state.get()?.iterations.at(-1)?.iteration ?? 0;
    let to: number | null = null;
    for (;;) {
      const from: number = Math.max(known + 1, (to ?? state.get()?.detail.lastIteration ?? 1) - pageSize + 1);
      const range: string = `from=${from}${to === null ? '' : `&to=${to}`}`;
      const answer = await get<IterationPage>(`${path}/iterations?${range}`, abort.signal);
      if (!answer.ok) return;
      update((last) => ({ ...last, iterations: merge(last.iterations, answer.value.iterations) }));
      if (from <= known + 1 || answer.value.isCut) break;
      to = from - 1;
    }
    update((last) => ({ ...last, isLoading: false }));
  };

  const receive = (message: RunMessage) => {
    switch (message.type) {
      case 'snapshot':
        return take(message.detail, true);
      case 'entries':
        return update((last) => ({ ...last, entries: [...last.entries, ...message.entries].slice(-maxEntries) }));
      case 'view':
        setServerTime(message.now);
        return update((last) => ({ ...last, detail: withView(last.detail, message) }));
      case 'ended':
        update((last) => ({ ...last, detail: withView(last.detail, message) }));
        // The row, with what needs a person, is another one now.
        return void refresh();
      case 'iteration':
        return update((last) => ({ ...last, iterations: merge(last.iterations, [message.iteration]) }));
      case 'tasks':
        return update((last) => ({ ...last, detail: { ...last.detail, tasks: message.tasks } }));
      case 'superseded':
        return update((last) => ({ ...last, supersededBy: message.run }));
    }
  };
  const refresh = async (): Promise<Problem | null> => {
    const answer = await readRun(change, run, abort.signal);
    if (abort.signal.aborted) return null;
    if (answer.ok) take(answer.value, false);
    else problem.set(answer.problem);
    return answer.ok ? null : answer.problem;
  };
  refreshers.add(refresh);

  const close = openStream<RunMessage>({
    path: runPath(change, run),
    onMessage: receive,
    read: refresh,
  });
  return {
    state,
    problem,
    close: () => {
      refreshers.delete(refresh);
      abort.abort();
      close();
    },
  };
};

/** A change that was never run has only its documents. */
const readRun = async (change: string, run: string, signal: AbortSignal): Promise<Answer<RunDetail>> => {
  const answer = await get<RunDetail>(runPath(change, run), signal);
  if (answer.ok || run !== 'latest' || answer.problem.code !== 'not-found') return answer;
  const found = await get<ChangeDetail>(`/changes/${encodeURIComponent(change)}`, signal);
  return found.ok ? { ok: true, value: { ...found.value, ...notRun, status: found.value.row.status } } : found;
};

const notRun = {
  run: 'latest',
  isLatest: true,
  view: null,
  activity: null,
  lastIteration: 0,
  checkpoints: [],
  leftovers: [],
  now: '',
} as const;

const refreshers = new Set<() => Promise<Problem | null>>();

/** Reads the run that is shown again, after an action that its journal does not tell of. */
export const refreshRun = (): void => {
  for (const refresh of refreshers) void refresh();
};

const withView = (
  detail: RunDetail,
  { view, status }: { readonly view: NonNullable<RunDetail['view']>; readonly status: RunDetail['status'] },
): RunDetail => ({
  ...detail,
  view,
  status,
  lastIteration: Math.max(detail.lastIteration, view.iteration),
});

const merge = (known: readonly IterationSummary[], added: readonly IterationSummary[]): readonly IterationSummary[] => {
  if (added.length === 0) return known;
  const byNumber = new Map(known.map((one) => [one.iteration, one]));
  for (const one of added) byNumber.set(one.iteration, one);
  return [...byNumber.values()].toSorted((a, b) => a.iteration - b.iteration);
};
