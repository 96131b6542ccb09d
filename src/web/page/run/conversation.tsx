import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ConversationPage, JournalEntry } from '../../api.ts';
import { Failure, Loading } from '../parts/notice.tsx';
import { get, type Problem } from '../state/client.ts';
import type { RunState } from '../state/run.ts';
import { Entries } from './entries.tsx';
import { isAtEnd, scrollerOf, scrollToEnd } from './scroller.ts';

interface Loaded {
  readonly entries: readonly JournalEntry[];
  readonly previous: string | null;
  readonly next: string | null;
}

/** What the agent said and did, with what arrives while it is shown. */
export const Conversation = ({
  base,
  state,
  number,
  isCurrent,
}: {
  readonly base: string;
  readonly state: RunState;
  readonly number: number;
  readonly isCurrent: boolean;
}) => {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  // Whether it started at its end, to which the stream adds.
  const isLive = useRef(isCurrent).current;
  const isLoading = useRef(false);
  const box = useRef<HTMLDivElement>(null);

  const load = async (query: string, join: (last: Loaded | null, page: ConversationPage) => Loaded) => {
    if (isLoading.current) return;
    isLoading.current = true;
    const answer = await get<ConversationPage>(`${base}/conversation${query}`);
    isLoading.current = false;
    if (!answer.ok) {
      // The journal has nothing of an iteration that has just started.
      if (isLive && answer.problem.code === 'not-found') setLoaded({ entries: [], previous: null, next: null });
      else setProblem(answer.problem);
      return;
    }
    setLoaded((last) => join(last, answer.value));
  };
  useEffect(() => {
    void load(isLive ? '?before=end' : '', (_, page) => page);
  }, []);

  const entries = loaded === null ? [] : [...loaded.entries, ...(isLive ? liveEntries(state, loaded, number) : [])];
  const { isStuck, jump } = useStickyEnd(box, entries.length, isLive && loaded !== null);
  const loadEarlier = () => {
    const scroller = box.current && scrollerOf(box.current);
    const fromEnd = scroller ? scroller.scrollHeight - scroller.scrollTop : 0;
    void load(`?before=${encodeURIComponent(loaded?.previous ?? '')}`, (last, page) => ({
      entries: [...page.entries, ...(last?.entries ?? [])],
      previous: page.previous,
      next: last?.next ?? null,
    })).then(() => {
      // What was read stays where it was.
      requestAnimationFrame(() => {
        if (scroller) scroller.scrollTop = scroller.scrollHeight - fromEnd;
      });
    });
  };
  const loadLater = () =>
    void load(`?after=${encodeURIComponent(loaded?.next ?? '')}`, (last, page) => ({
      entries: [...(last?.entries ?? []), ...page.entries],
      previous: last?.previous ?? null,
      // An iteration whose end is not recorded has nothing more either.
      next: page.entries.length === 0 ? null : page.next,
    }));

  if (problem !== null) return <Failure problem={problem} />;
  if (loaded === null) return <Loading what="Loading the conversation" />;
  return (
    <>
      <div
        ref={box}
        class="scroll conversation"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={`Conversation of iteration ${number}`}
      >
        {loaded.previous !== null && <More label="Load earlier" onVisible={loadEarlier} />}
        <Entries entries={entries} />
        {!isLive && loaded.next !== null && <More label="Load more" onVisible={loadLater} />}
        {entries.length === 0 && (
          <p class="empty">{isCurrent ? 'The agent has said nothing yet.' : 'Nothing is left of the conversation.'}</p>
        )}
        {isCurrent && (
          <p class="working" aria-hidden="true">
            <span />
            <span />
            <span />
          </p>
        )}
      </div>
      {isLive && isCurrent && !isStuck && (
        <button type="button" class="jump" onClick={jump}>
          ↓ Jump to latest
        </button>
      )}
    </>
  );
};

/** What the stream has sent of this iteration since the page was read. */
const liveEntries = (state: RunState, loaded: Loaded, number: number): readonly JournalEntry[] => {
  const lastSeq = loaded.entries.at(-1)?.seq ?? -1;
  const { entries } = state;
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

/** Stays at the end while it grows, as long as the reader is there. */
const useStickyEnd = (box: { readonly current: HTMLElement | null }, count: number, isLive: boolean) => {
  const [isStuck, setStuck] = useState(true);
  const stuck = useRef(true);
  const isFirst = useRef(true);
  useEffect(() => {
    const element = box.current;
    if (element === null || !isLive) return undefined;
    const scroller = scrollerOf(element);
    const target = scroller === document.scrollingElement ? document : scroller;
    const scrolled = () => {
      stuck.current = isAtEnd(scroller);
      setStuck(stuck.current);
    };
    target.addEventListener('scroll', scrolled, { passive: true });
    return () => target.removeEventListener('scroll', scrolled);
  }, [isLive]);
  useLayoutEffect(() => {
    if (!isLive || box.current === null) return;
    const scroller = scrollerOf(box.current);
    // A page that scrolls as a whole is not moved before its reader has gone to its end.
    if (isFirst.current && scroller !== box.current) {
      stuck.current = false;
      setStuck(false);
    }
    isFirst.current = false;
    if (stuck.current) scrollToEnd(scroller);
  }, [count, isLive]);
  const jump = () => {
    if (box.current === null) return;
    stuck.current = true;
    setStuck(true);
    scrollToEnd(scrollerOf(box.current));
  };
  return { isStuck, jump };
};

/** Loads more as soon as it is seen; a button for keyboards. */
const More = ({ label, onVisible }: { readonly label: string; readonly onVisible: () => void }) => {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(onVisible);
  latest.current = onVisible;
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting) latest.current();
    });
    if (button.current) observer.observe(button.current);
    return () => observer.disconnect();
  });
  return (
    <button ref={button} type="button" class="more" onClick={onVisible}>
      {label}
    </button>
  );
};
