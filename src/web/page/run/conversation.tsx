import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Failure, Loading } from '../parts/notice.tsx';
import { type ConversationRequest, useConversation } from '../state/conversation.ts';
import { Entries } from './entries.tsx';
import { isAtEnd, scrollerOf, scrollToEnd } from './scroller.ts';

/** What the agent said and did, with what arrives while it is shown. */
export const Conversation = (request: ConversationRequest) => {
  const { number, isCurrent } = request;
  const { entries, problem, isLive, ...more } = useConversation(request);
  const box = useRef<HTMLDivElement>(null);
  const { isStuck, jump } = useStickyEnd(box, entries?.length ?? 0, isLive && entries !== null);
  const loadEarlier = () => {
    const scroller = box.current && scrollerOf(box.current);
    const fromEnd = scroller ? scroller.scrollHeight - scroller.scrollTop : 0;
    void more.loadEarlier().then(() => {
      // What was read stays where it was.
      requestAnimationFrame(() => {
        if (scroller) scroller.scrollTop = scroller.scrollHeight - fromEnd;
      });
    });
  };

  if (problem !== null) return <Failure problem={problem} />;
  if (entries === null) return <Loading what="Loading the conversation" />;
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
        {more.hasEarlier && <More label="Load earlier" onVisible={loadEarlier} />}
        <Entries entries={entries} />
        {more.hasLater && <More label="Load more" onVisible={() => void more.loadLater()} />}
        {entries.length === 0 && (
          <p class="empty">
            {isCurrent ? 'The agent has said nothing yet.' : 'The journal has nothing of this iteration.'}
          </p>
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
