import type { JournalEntry } from '../api.ts';

/** The last entries of a journal, for clients that connect again. */
export interface RecentEntries {
  add(entry: JournalEntry, size: number): void;
  /** All entries after a number; null if some of them are not known any more. */
  after(seq: number): readonly JournalEntry[] | null;
  /** The number of the last one; 0 if there is none. */
  last(): number;
}

const maxEntries = 5000;
/** Characters of JSON. */
const maxSize = 2 * 1024 * 1024;

export const createRecentEntries = (): RecentEntries => {
  let kept: { readonly entry: JournalEntry; readonly size: number }[] = [];
  let size = 0;
  let last = 0;
  return {
    add: (entry, length) => {
      // After a gap, what was before it is of no use.
      if (entry.seq !== last + 1) [kept, size] = [[], 0];
      last = entry.seq;
      kept.push({ entry, size: length });
      size += length;
      if (size <= 2 * maxSize && kept.length <= 2 * maxEntries) return;
      while (size > maxSize || kept.length > maxEntries) {
        const dropped = Math.max(1, Math.ceil(kept.length / 10));
        size -= kept.slice(0, dropped).reduce((sum, each) => sum + each.size, 0);
        kept = kept.slice(dropped);
      }
    },
    after: (seq) => {
      const first = kept[0]?.entry.seq ?? last + 1;
      if (seq > last || seq + 1 < first) return null;
      return kept.slice(seq + 1 - first).map(({ entry }) => entry);
    },
    last: () => last,
  };
};
