import { useEffect, useState } from 'preact/hooks';
import type { ChangeDetail, IterationPage, RunDetail, RunMessage } from '../../api.ts';
import { type Answer, get, type Problem, runPath } from './client.ts';
import { setServerTime } from './clock.ts';
import { type RunState, withDetail, withIterations, withMessage } from './run-state.ts';
import { createStore, type Store, useStore } from './store.ts';
import { openStream } from './stream.ts';

const pageSize = 500;

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
  const abort = new AbortController();
  let reads = 0;

  const taken = (detail: RunDetail) => {
    if (detail.now !== '') setServerTime(detail.now);
    problem.set(null);
    if (detail.lastIteration > 0) void loadIterations(state, runPath(change, run), abort.signal);
  };
  const refresh = async (): Promise<Problem | null> => {
    const read = ++reads;
    const answer = await readRun(change, run, abort.signal);
    if (abort.signal.aborted || read !== reads) return null;
    if (!answer.ok) {
      problem.set(answer.problem);
      return answer.problem;
    }
    state.set(withDetail(state.get(), answer.value));
    taken(answer.value);
    return null;
  };
  const receive = (message: RunMessage) => {
    state.set(withMessage(state.get(), message));
    if (message.type === 'snapshot') taken(message.detail);
    if (message.type === 'view') setServerTime(message.now);
    // The row, with what needs a person, is another one now.
    if (message.type === 'ended') void refresh();
  };
  refreshers.add(refresh);

  const close = openStream<RunMessage>({ path: runPath(change, run), onMessage: receive, read: refresh });
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

/** Loads the iterations that are missing, the latest ones first. Each answer is shown as soon as it is there. */
const loadIterations = async (state: Store<RunState | null>, path: string, signal: AbortSignal): Promise<void> => {
  const update = (edit: (last: RunState) => RunState) => {
    const last = state.get();
    if (last !== null) state.set(edit(last));
  };
  const known = state.get()?.iterations.at(-1)?.iteration ?? 0;
  let to: number | null = null;
  for (;;) {
    const from: number = Math.max(known + 1, (to ?? state.get()?.detail.lastIteration ?? 1) - pageSize + 1);
    const range: string = `from=${from}${to === null ? '' : `&to=${to}`}`;
    const answer = await get<IterationPage>(`${path}/iterations?${range}`, signal);
    if (!answer.ok) return;
    update((last) => withIterations(last, answer.value.iterations));
    if (from <= known + 1) break;
    to = from - 1;
  }
  update((last) => ({ ...last, isLoading: false }));
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
