import { useEffect, useRef, useState } from 'preact/hooks';
import type { ConversationPage, JournalEntry } from '../../api.ts';
import { get, type Problem } from './client.ts';
import { useRetryCount } from './load.ts';
import type { RunState } from './run-state.ts';

/** A part of a conversation, read from the journal. */
interface Loaded {
  readonly entries: readonly JournalEntry[];
  /** Cursors of what is before and after it; null if there is nothing. */
  readonly previous: string | null;
  readonly next: string | null;
}

export interface ConversationRequest {
  /** The address of the iteration. */
  readonly base: string;
  readonly state: RunState;
  readonly number: number;
  readonly isCurrent: boolean;
}

export interface Conversation {
  /** null until it is loaded. */
  readonly entries: readonly JournalEntry[] | null;
  readonly problem: Problem | null;
  /** Whether it started at its end, to which the stream adds. */
  readonly isLive: boolean;
  readonly hasEarlier: boolean;
  readonly hasLater: boolean;
  readonly loadEarlier: () => Promise<void>;
  readonly loadLater: () => Promise<void>;
}

const empty: Loaded = { entries: [], previous: null, next: null };

/** What happened in an iteration, window by window: from its beginning, or from its end if it is running. */
export const useConversation = ({ base, state, number, isCurrent }: ConversationRequest): Conversation => {
  const isLive = useRef(isCurrent).current;
  const { loaded, latest, problem, load } = useWindows(base);
  const retries = useRetryCount(problem !== null);
  const start = () => load(isLive ? '?before=end' : '', (_, page) => page);
  const loadEarlier = () =>
    load(cursorQuery('before', latest.current?.previous), (last, page) => ({
      ...last,
      entries: [...page.entries, ...last.entries],
      previous: page.previous,
    }));
  const loadLater = () =>
    load(cursorQuery('after', latest.current?.next), (last, page) => ({
      ...last,
      entries: [...last.entries, ...page.entries],
      // An iteration whose end is not recorded has nothing more, unless it is running.
      next: page.entries.length === 0 && !isLive ? null : page.next,
    }));
  /** Reads what the stream did not send, or may have forgotten. */
  const catchUp = async () => {
    for (let cursor = latest.current?.next ?? null; cursor !== null;) {
      await loadLater();
      const next: string | null = latest.current?.next ?? null;
      cursor = next === cursor ? null : next;
    }
  };

  useEffect(() => {
    if (latest.current === null || (isLive && latest.current.entries.length === 0)) void start();
    else if (isLive) void catchUp();
  }, [retries, state.snapshots, isCurrent]);

  const live = isLive && loaded !== null ? liveEntries(state.entries, loaded, number) : [];
  return {
    entries: loaded && (live.length === 0 ? loaded.entries : [...loaded.entries, ...live]),
    problem: loaded === null ? problem : null,
    isLive,
    hasEarlier: loaded !== null && loaded.previous !== null,
    hasLater: !isLive && loaded !== null && loaded.next !== null,
    loadEarlier,
    loadLater,
  };
};

/** What is loaded. `latest` is the same, for functions that run after a wait. */
const useWindows = (base: string) => {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const latest = useRef(loaded);
  const isLoading = useRef(false);

  const read = async (query: string): Promise<ConversationPage | null> => {
    const answer = await get<ConversationPage>(`${base}/conversation${query}`);
    if (answer.ok) return answer.value;
    // Of an iteration that has just started, or whose journal was deleted, there is nothing.
    if (answer.problem.code === 'not-found') return { ...empty, position: { start: 0, end: 0, size: 0 } };
    setProblem(answer.problem);
    return null;
  };
  const show = (next: Loaded) => {
    latest.current = next;
    setProblem(null);
    setLoaded(next);
  };
  /** One window at a time. `query` is null if there is none. */
  const load = async (query: string | null, join: (last: Loaded, page: ConversationPage) => Loaded) => {
    if (isLoading.current || query === null) return;
    isLoading.current = true;
    const page = await read(query);
    isLoading.current = false;
    if (page) show(join(latest.current ?? empty, page));
  };
  return { loaded, latest, problem, load };
};

const cursorQuery = (name: 'after' | 'before', cursor: string | null | undefined): string | null =>
  cursor == null ? null : `?${name}=${encodeURIComponent(cursor)}`;

/** What the stream has sent of this iteration since the window was read. */
const liveEntries = (entries: readonly JournalEntry[], loaded: Loaded, number: number): readonly JournalEntry[] => {
  const lastSeq = loaded.entries.at(-1)?.seq ?? -1;
  const numberOf = ({ event }: JournalEntry) => (event.type === 'iteration-started' ? event.iteration : null);
  const start =
    lastSeq === -1
      ? Math.max(
          0,
          entries.findLastIndex((entry) => numberOf(entry) === number),
        )
      : 0;
  const end = entries.findIndex((entry, index) => index >= start && (numberOf(entry) ?? 0) > number);
  return entries.slice(start, end === -1 ? undefined : end).filter(({ seq }) => seq > lastSeq);
};
