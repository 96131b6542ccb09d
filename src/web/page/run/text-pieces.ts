import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { TextPage } from '../../api.ts';
import { get, type Problem } from '../state/client.ts';
import { useRetryCount } from '../state/load.ts';
import { isAtEnd, scrollerOf, scrollToEnd } from './scroller.ts';

/** Bytes of a piece, and how many pieces are in the page at a time. */
export const pieceSize = 64 * 1024;
const maxPieces = 5;
const growthMs = 1000;

/** What stays in sight when the pieces change. */
type Anchor = 'start' | 'end' | 'keep-bottom' | 'none';

export interface TextPieces {
  /** Without gaps; empty until something is loaded. */
  readonly pieces: readonly TextPage[];
  /** Of the file, in bytes. */
  readonly size: number;
  readonly problem: Problem | null;
  readonly jump: (offset: number | 'end', kind: 'start' | 'end') => Promise<void>;
  /** Loads what comes next where the reader is. */
  readonly onScroll: () => void;
}

/** The element that shows a text. */
type Box = { readonly current: HTMLElement | null };

/**
 * The pieces of a text file around the position of the reader. A file that grows is
 * followed while its end is shown.
 */
export const useTextPieces = (base: string, isGrowing: boolean, box: Box): TextPieces => {
  const [pieces, setPieces] = useState<readonly TextPage[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const isLoading = useRef(false);
  const retries = useRetryCount(problem !== null);
  const anchor = useAnchor(box, pieces);
  const latest = useRef(pieces);
  latest.current = pieces;
  const size = Math.max(0, ...pieces.map((piece) => piece.size));

  const load = async (offset: number | 'end', length: number): Promise<TextPage | null> => {
    if (isLoading.current) return null;
    isLoading.current = true;
    const answer = await get<TextPage>(`${base}?offset=${offset}&length=${length}`);
    isLoading.current = false;
    setProblem(answer.ok ? null : answer.problem);
    return answer.ok ? answer.value : null;
  };
  const show = (next: readonly TextPage[], kind: Anchor, moreHeight = 0) => {
    anchor.set(kind, moreHeight);
    setPieces(next);
  };
  const jump = async (offset: number | 'end', kind: 'start' | 'end') => {
    const page = await load(offset, pieceSize);
    if (page) show([page], kind);
  };
  const loadLater = async () => {
    const end = latest.current.at(-1);
    if (!end) return;
    const page = await load(end.nextOffset, pieceSize);
    if (!page || page.text === '') return;
    const wasAtEnd = box.current !== null && isAtEnd(scrollerOf(box.current));
    const next = [...latest.current, page];
    // What is dropped at the top moves the rest up.
    const isDropping = next.length > maxPieces;
    const kind = wasAtEnd && isGrowing ? 'end' : isDropping ? 'keep-bottom' : 'none';
    show(next.slice(-maxPieces), kind, isDropping ? heightOf(box.current, page.text) : 0);
  };
  const loadEarlier = async () => {
    const start = latest.current[0];
    if (!start || start.offset === 0) return;
    const from = Math.max(0, start.offset - pieceSize);
    const page = await load(from, start.offset - from);
    if (page && page.text !== '') show([page, ...latest.current].slice(0, maxPieces), 'keep-bottom');
  };

  useEffect(() => {
    if (latest.current.length === 0) void (isGrowing ? jump('end', 'end') : jump(0, 'start'));
  }, [retries]);
  useGrowth(box, isGrowing, loadLater);
  const onScroll = () => {
    const scroller = box.current && scrollerOf(box.current);
    if (!scroller) return;
    const isMoreBelow = (latest.current.at(-1)?.nextOffset ?? 0) < size;
    if (scroller.scrollTop < scroller.clientHeight) void loadEarlier();
    if (isMoreBelow && scroller.scrollHeight - scroller.scrollTop < 2 * scroller.clientHeight) void loadLater();
  };
  usePageScroll(box, onScroll);
  return { pieces, size, problem, jump, onScroll };
};

/** Loads what is added to the file while its end is shown, and once more when it has stopped growing. */
const useGrowth = (box: Box, isGrowing: boolean, loadLater: () => Promise<void>): void => {
  useEffect(() => {
    // Its last lines may have come after it was read.
    if (!isGrowing) return void loadLater();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && box.current && isAtEnd(scrollerOf(box.current))) void loadLater();
    }, growthMs);
    return () => clearInterval(timer);
  }, [isGrowing]);
};

/** On a narrow screen the whole page scrolls, not the box. */
const usePageScroll = (box: Box, onScroll: () => void): void => {
  useEffect(() => {
    const isNarrow = box.current !== null && scrollerOf(box.current) !== box.current;
    if (!isNarrow) return undefined;
    document.addEventListener('scroll', onScroll, { passive: true });
    return () => document.removeEventListener('scroll', onScroll);
  });
};

/** Keeps the reader where they are, or brings them to an end, when the pieces have changed. */
const useAnchor = (box: Box, pieces: readonly TextPage[]) => {
  const anchor = useRef<{ kind: Anchor; height: number }>({ kind: 'none', height: 0 });
  useLayoutEffect(() => {
    if (box.current === null) return;
    const scroller = scrollerOf(box.current);
    const { kind, height } = anchor.current;
    anchor.current = { kind: 'none', height: 0 };
    if (kind === 'start' && scroller === box.current) scroller.scrollTop = 0;
    if (kind === 'end') scrollToEnd(scroller);
    if (kind === 'keep-bottom') scroller.scrollTop += scroller.scrollHeight - height;
  }, [pieces]);
  return {
    /** For the next change of the pieces. `moreHeight` is that of what comes in addition to what is shown. */
    set: (kind: Anchor, moreHeight: number) => {
      const scroller = box.current && scrollerOf(box.current);
      anchor.current = { kind, height: (scroller?.scrollHeight ?? 0) + moreHeight };
    },
  };
};

/** How high a text will be: measured, since lines wrap. */
const heightOf = (box: HTMLElement | null, text: string): number => {
  const pre = box?.querySelector('pre');
  if (!pre) return 0;
  const before = pre.offsetHeight;
  const probe = document.createElement('span');
  probe.textContent = text;
  pre.append(probe);
  const height = pre.offsetHeight - before;
  probe.remove();
  return height;
};
