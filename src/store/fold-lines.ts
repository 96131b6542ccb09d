import type { RunEvent } from '../ralph/events.ts';
import { reduceView } from '../ralph/reduce-view.ts';
import type { RunView } from '../ralph/view.ts';
import { parseJournalLine } from './event-format.ts';
import type { JournalLine } from './journal-lines.ts';

export interface FoldOptions {
  readonly run: string;
  /** Leaves out what agents did in earlier iterations, which is most of a journal. */
  readonly fromIteration: number;
  /** The lines may have been read before. */
  readonly isRepeated?: () => boolean;
  /** Whether the end that a line says counts: agents can write to a journal. */
  readonly isEnd?: (view: RunView) => boolean;
  /** Changes the view that is shown. */
  readonly adapt?: (view: RunView) => RunView;
}

/** What a line of a journal means. */
export type Folded =
  | {
      readonly kind: 'event';
      readonly event: RunEvent;
      readonly view: RunView;
      readonly line: Pick<JournalLine, 'seq' | 'at'>;
    }
  /** Spool has written it, but it is not needed. */
  | { readonly kind: 'left-out' }
  /** It does not count. */
  | { readonly kind: 'ignored' };

const ignored: Folded = { kind: 'ignored' };
const leftOutLine: Folded = { kind: 'left-out' };

/** Turns the lines of a journal, from wherever they are, into events, each with the view of the run after it. */
export const createLineFolder = ({
  run,
  fromIteration,
  isRepeated = () => false,
  isEnd = () => true,
  adapt = (view) => view,
}: FoldOptions): ((text: string) => Folded) => {
  let view: RunView | null = null;
  let lastSeq = 0;
  return (text) => {
    const leftOut = view !== null && view.iteration < fromIteration ? seqOfAgentLine(text) : null;
    if (leftOut !== null) {
      if (leftOut !== lastSeq + 1) return ignored;
      lastSeq = leftOut;
      return leftOutLine;
    }
    const line = parseJournalLine(text);
    if (line === undefined || (isRepeated() && line.seq <= lastSeq)) return ignored;
    const next = viewAfter(line, view);
    if (next?.run !== run || (endsWith(next, view) && !isEnd(next))) return ignored;
    view = adapt(next);
    // Only the next number counts: a forged one must not hide the lines after it.
    if (line.seq === lastSeq + 1) lastSeq = line.seq;
    return { kind: 'event', event: line.event, view, line: { seq: line.seq, at: line.at } };
  };
};

/** Returns the number of a line about an agent without parsing all of it; null for any other line. Spool writes the fields in this order. */
const seqOfAgentLine = (line: string): number | null => {
  const seq = agentLine.exec(line)?.[1];
  return seq === undefined ? null : Number(seq);
};

const agentLine = /^\{"v":1,"seq":(\d{1,15}),"at":"[^"]{1,40}","elapsedMs":[\d.]{1,20},"event":\{"type":"agent",/;

const viewAfter = ({ event, elapsedMs, view: carried }: JournalLine, view: RunView | null): RunView | null =>
  carried ?? (view && { ...reduceView(view, event), elapsedMs });

const endsWith = ({ status }: RunView, before: RunView | null): boolean =>
  status !== 'running' && status !== before?.status;
