import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { TextPage } from '../../api.ts';
import { get, type Problem } from '../state/client.ts';
import { useAttempt } from '../state/load.ts';
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

/**
 * The pieces of a text file around the place that is read. `box` is the element that shows them. A file that grows is
 * followed while its end is shown.
 */
export const useTextPieces = (
  base: string,
  isGrowing: boolean,
  box: { readonly current: HTMLElement | null },
): TextPieces => {
  const [pieces, setPieces] = useState<readonly TextPage[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const isLoading = useRef(false);
  const attempt = useAttempt(problem !== null);
  const anchor = useRef<{ kind: Anchor; height: number }>({ kind: 'none', height: 0 });
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
  const show = (next: readonly TextPage[], kind: Anchor) => {
    const scroller = box.current && scrollerOf(box.current);
    anchor.current = { kind, height: scroller?.scrollHeight ?? 0 };
    setPieces(next);
  };
  const jump = async (offset: number | 'end', kind: 'start' | 'end') => {
    const page = await load(offset, pieceSize);
    if (page) show([page], kind);
  };
  const later = async () => {
    const end = latest.current.at(-1);
    if (!end) return;
    const page = await load(end.nextOffset, pieceSize);
    if (!page || page.text === '') return;
    const wasAtEnd = box.current !== null && isAtEnd(scrollerOf(box.current));
    const next = [...latest.current, page];
    // What is dropped at the top moves the rest up.
    show(next.slice(-maxPieces), wasAtEnd && isGrowing ? 'end' : next.length > maxPieces ? 'keep-bottom' : 'none');
    if (next.length > maxPieces) anchor.current.height += heightOf(box.current, page.text);
  };
  const earlier = async () => {
    const start = latest.current[0];
    if (!start || start.offset === 0) return;
    const from = Math.max(0, start.offset - pieceSize);
    const page = await load(from, start.offset - from);
    if (page && page.text !== '') show([page, ...latest.current].slice(0, maxPieces), 'keep-bottom');
  };

  useEffect(() => {
    if (latest.current.length === 0) void (isGrowing ? jump('end', 'end') : jump(0, 'start'));
  }, [attempt]);
  useEffect(() => {
    // Its last lines may have come after it was read.
    if (!isGrowing) return void later();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && box.current && isAtEnd(scrollerOf(box.current))) void later();
    }, growthMs);
    return () => clearInterval(timer);
  }, [isGrowing]);
  useLayoutEffect(() => {
    if (box.current === null) return;
    const scroller = scrollerOf(box.current);
    const { kind, height } = anchor.current;
    anchor.current = { kind: 'none', height: 0 };
    if (kind === 'start' && scroller === box.current) scroller.scrollTop = 0;
    if (kind === 'end') scrollToEnd(scroller);
    if (kind === 'keep-bottom') scroller.scrollTop += scroller.scrollHeight - height;
  }, [pieces]);

  const onScroll = () => {
    const scroller = box.current && scrollerOf(box.current);
    if (!scroller) return;
    const isMoreBelow = (latest.current.at(-1)?.nextOffset ?? 0) < size;
    if (scroller.scrollTop < scroller.clientHeight) void earlier();
    if (isMoreBelow && scroller.scrollHeight - scroller.scrollTop < 2 * scroller.clientHeight) void later();
  };
  useEffect(() => {
    const isNarrow = box.current !== null && scrollerOf(box.current) !== box.current;
    if (!isNarrow) return undefined;
    document.addEventListener('scroll', onScroll, { passive: true });
    return () => document.removeEventListener('scroll', onScroll);
  });
  return { pieces, size, problem, jump, onScroll };
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
