import { join } from 'node:path';
import { removeOwn, replaceOwn } from '../../files/own.ts';
import { readable } from '../../git/git.ts';
import { readJson } from '../../project/files.ts';
import { flag, object, pairOf, required, text, validItems } from '../../project/shape.ts';
import type { Uncommitted } from '../../ralph/events.ts';

/** Work of a run that is in no commit, by the names that git gave. It is kept with the run, for when that is resumed. */
export interface Ledger {
  /** What goes into the next commit that succeeds. */
  owed(): string[];
  all(): string[];
  add(names: readonly string[], about: Reason): void;
  remove(names: readonly string[]): void;
  /** What there is to say of these. */
  report(names: ReadonlySet<string>): Uncommitted[];
}

interface Reason {
  readonly why: string;
  /** It is the run's own work, and nothing but this was in the way of committing it. */
  readonly owed: boolean;
}

/** More are counted, but not named. */
const mostNamed = 20;

/** `folder` is that of the run. */
export const openLedger = (folder: string): Ledger => {
  const file = join(folder, 'uncommitted.json');
  const open = read(file);
  const save = () => {
    try {
      if (open.size === 0) removeOwn(file);
      else replaceOwn(file, JSON.stringify([...open]));
    } catch {
      // A disk that is full: what is written next says so.
    }
  };
  return {
    owed: () => [...open].filter(([, { owed }]) => owed).map(([name]) => name),
    all: () => [...open.keys()],
    add: (names, about) => {
      const isNew = (name: string) => open.get(name)?.why !== about.why || open.get(name)?.owed !== about.owed;
      const added = names.filter(isNew);
      for (const name of added) open.set(name, about);
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
        files: each.map(readable).toSorted().slice(0, mostNamed),
        count: each.length,
      }));
    },
  };
};

/** An agent can write into the folder as well. */
const read = (file: string): Map<string, Reason> => new Map(entries(readJson(file)));

const entries = validItems(pairOf(text, object<Reason>({ why: required(text), owed: required(flag) })));
