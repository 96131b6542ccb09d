import type { JournalEntry, RunDetail, RunMessage } from '../api.ts';
import { summarise } from '../read/summarise.ts';
import { messageText } from './client.ts';
import type { LiveView } from './live-view.ts';

/** The messages about a run as they are sent. The id of a message is the number of the last entry that it contains. */
export interface RunTexts {
  message(message: RunMessage): string;
  /** The entries, and the iterations that finish in them. */
  entries(entries: readonly JournalEntry[]): string;
  /** Empty if there is no view yet. */
  view(view: LiveView): string;
  snapshot(detail: RunDetail, seq: number): string;
  /** The number of the last entry that a client has got; null if it was told about another run. */
  seqIn(id: string | null): number | null;
}

export const createRunTexts = (run: string, toJson: (message: RunMessage) => string): RunTexts => {
  const message = (of: RunMessage, seq: number | null = null): string =>
    messageText(toJson(of), seq === null ? null : `${run}.${seq}`);
  return {
    message: (of) => message(of),
    entries: (entries) => {
      if (entries.length === 0) return '';
      const finished = entries.flatMap(({ event }) =>
        event.type === 'iteration-finished' ? [message({ type: 'iteration', iteration: summarise(event.record) })] : [],
      );
      return [message({ type: 'entries', entries }, entries.at(-1)!.seq), ...finished].join('');
    },
    view: (live) => {
      const now = new Date();
      const view = live.at(now.getTime());
      return view === null ? '' : message({ type: 'view', view, status: view.status, now: now.toISOString() });
    },
    snapshot: (detail, seq) => message({ type: 'snapshot', detail, seq }, seq === 0 ? null : seq),
    seqIn: (id) => {
      const at = id?.lastIndexOf('.') ?? -1;
      if (id === null || id.slice(0, at) !== run || !/^\d{1,15}$/.test(id.slice(at + 1))) return null;
      return Number(id.slice(at + 1));
    },
  };
};
