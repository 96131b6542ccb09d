import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { TextPage } from '../../api.ts';
import { grouped } from '../../../ralph/usage.ts';
import { Failure, Loading } from '../parts/notice.tsx';
import { get, type Problem } from '../state/client.ts';
import { useAttempt } from '../state/load.ts';
import { isAtEnd, scrollerOf, scrollToEnd } from './scroller.ts';

/** Bytes of a piece, and how many pieces are in the page at a time. */
const pieceSize = 64 * 1024;
const maxPieces = 5;
const growthMs = 1000;

type Anchor = 'start' | 'end' | 'keep-bottom' | 'none';

/**
 * A text file of any size. Only the pieces around the place that is read are loaded; the slider goes anywhere. A file
 * that grows is followed while its end is shown.
 */
export const TextFile = ({
  base,
  name,
  isGrowing,
}: {
  readonly base: string;
  readonly name: string;
  readonly isGrowing: boolean;
}) => {
  const [pieces, setPieces] = useState<readonly TextPage[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const isLoading = useRef(false);
  const attempt = useAttempt(problem !== null);
  const anchor = useRef<{ kind: Anchor; height: number }>({ kind: 'none', height: 0 });
  const latest = useRef(pieces);
  latest.current = pieces;

  const first = pieces[0] ?? null;
  const last = pieces.at(-1) ?? null;
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
  const more = async () => {
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
    if (!isGrowing) return void more();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && box.current && isAtEnd(scrollerOf(box.current))) void more();
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

  const scrolled = () => {
    const scroller = box.current && scrollerOf(box.current);
    if (!scroller) return;
    if (scroller.scrollTop < scroller.clientHeight) void earlier();
    if (scroller.scrollHeight - scroller.scrollTop < 2 * scroller.clientHeight && (last?.nextOffset ?? 0) < size)
      void more();
  };
  useEffect(() => {
    const narrow = box.current !== null && scrollerOf(box.current) !== box.current;
    if (!narrow) return undefined;
    document.addEventListener('scroll', scrolled, { passive: true });
    return () => document.removeEventListener('scroll', scrolled);
  });

  if (first === null || last === null)
    return problem === null ? <Loading what={`Loading the ${name}`} /> : <Failure problem={problem} />;
  const isWhole = first.offset === 0 && last.nextOffset >= size;
  return (
    <>
      <div class="text-tools">
        <span class="quiet number">{bytes(size)}</span>
        {!isWhole && (
          <>
            <button type="button" class="small" onClick={() => void jump(0, 'start')}>
              Start
            </button>
            <input
              type="range"
              min={0}
              max={size}
              step={pieceSize}
              value={first.offset}
              aria-label={`Position in the ${name}`}
              aria-valuetext={`${bytes(first.offset)} of ${bytes(size)}`}
              onChange={({ currentTarget }) => void jump(Number(currentTarget.value), 'start')}
            />
            <button type="button" class="small" onClick={() => void jump('end', 'end')}>
              End
            </button>
          </>
        )}
      </div>
      <div ref={box} class="scroll text-file" tabIndex={0} role="region" aria-label={name} onScroll={scrolled}>
        {size === 0 ? (
          <p class="empty">{isGrowing ? 'Nothing yet.' : 'It is empty.'}</p>
        ) : (
          <pre>
            {pieces.map((piece) => (
              <span key={piece.offset}>{piece.text}</span>
            ))}
          </pre>
        )}
      </div>
    </>
  );
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

const bytes = (count: number): string => {
  if (count < 10_000) return `${grouped(count)} bytes`;
  return count < 1_000_000 ? `${(count / 1000).toFixed(0)} KB` : `${(count / 1_000_000).toFixed(1)} MB`;
};
