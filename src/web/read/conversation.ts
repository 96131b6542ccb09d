import type { JournalLine } from '../../store/journal-lines.ts';
import { createJournalReader, type JournalReader, type JournalWindow } from '../../store/journal-index.ts';
import { journalFile } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import type { ConversationPage, JournalEntry } from '../api.ts';
import { badRequest, notFound } from '../http/refusal.ts';
import { createCache } from './cache.ts';
import type { ConversationRequest } from './run-source.ts';

interface RunConversation extends ConversationRequest {
  readonly change: string;
  readonly run: string;
}

/** Reads windows of what happened in an iteration, from a journal of any size. */
export const createConversations = (project: Project) => {
  const readers = createCache<JournalReader>();
  return async ({ change, run, iteration, after, before }: RunConversation): Promise<ConversationPage> => {
    const reader = readers.get(`${change} ${run}`, () => createJournalReader(journalFile(project, change, run)));
    const window = await (before === null
      ? reader.after(iteration, after === null ? null : offsetOf(after))
      : reader.before(iteration, before === 'end' ? null : offsetOf(before)));
    if (window === null) throw notFound('The journal has nothing of this iteration.');
    return pageOf(window);
  };
};

/** A cursor is an offset in the journal. */
const offsetOf = (cursor: string): number => {
  if (!/^\d{1,15}$/.test(cursor)) throw badRequest('The cursor is not valid.');
  return Number(cursor);
};

const pageOf = ({ lines, start, end, range }: JournalWindow): ConversationPage => ({
  entries: lines.map(entryOf),
  previous: start > range.start ? String(start) : null,
  next: end < range.end || !range.isClosed ? String(end) : null,
  position: { start: start - range.start, end: end - range.start, size: range.end - range.start },
});

const entryOf = ({ seq, at, event }: JournalLine): JournalEntry => ({ seq, at, event });
