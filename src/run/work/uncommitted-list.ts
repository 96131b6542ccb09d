import { toUtf8 } from '../../git/paths.ts';
import type { FileLists } from '../../store/file-lists.ts';
import { boolean, object, pairOf, required, text, validItems } from '../../text/shape.ts';
import type { Uncommitted } from '../../ralph/events.ts';

/** The uncommitted work of a run, by git names. Saved with the run, for when it is resumed. */
export interface UncommittedList {
  /** Returns the files for the next commit. */
  pending(): string[];
  all(): string[];
  add(names: readonly string[], reason: Reason): void;
  remove(names: readonly string[]): void;
  /** Groups these files by the reason why they are not committed. */
  report(names: ReadonlySet<string>): Uncommitted[];
}

interface Reason {
  readonly why: string;
  /** It is the run's own work, and is committed as soon as `why` no longer applies. */
  readonly isPending: boolean;
}

/** Further files are only counted. */
const maxNames = 20;

export const openUncommittedList = (fileLists: FileLists): UncommittedList => {
  const saved = entries(fileLists.read('uncommitted.json')) ?? [];
  const open = new Map(saved.map(([name, { why, owed }]): [string, Reason] => [name, { why, isPending: owed }]));
  const save = () => {
    try {
      if (open.size === 0) fileLists.remove('uncommitted.json');
      else
        fileLists.write(
          'uncommitted.json',
          [...open].map(([name, reason]) => [name, toSaved(reason)]),
        );
    } catch {
      // The disk may be full. The next write fails with the error.
    }
  };
  return {
    pending: () => [...open].filter(([, { isPending }]) => isPending).map(([name]) => name),
    all: () => [...open.keys()],
    add: (names, reason) => {
      const isNew = (name: string) =>
        open.get(name)?.why !== reason.why || open.get(name)?.isPending !== reason.isPending;
      const added = names.filter(isNew);
      for (const name of added) open.set(name, reason);
      if (added.length > 0) save();
    },
    remove: (names) => {
      const removed = names.filter((name) => open.delete(name));
      if (removed.length > 0) save();
    },
    report: (names) => {
      const files = new Map<string, string[]>();
      for (const [name, { why }] of open) if (names.has(name)) files.set(why, [...(files.get(why) ?? []), name]);
      return [...files].map(([why, each]) => ({
        why,
        files: each.map(toUtf8).toSorted().slice(0, maxNames),
        count: each.length,
      }));
    },
  };
};

/** As in the file, whose names stay the same for other versions of Spool. */
interface SavedReason {
  readonly why: string;
  readonly owed: boolean;
}

const toSaved = ({ why, isPending }: Reason): SavedReason => ({ why, owed: isPending });

const entries = validItems(pairOf(text, object<SavedReason>({ why: required(text), owed: required(boolean) })));
