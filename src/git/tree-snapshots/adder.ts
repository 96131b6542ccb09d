import { existsSync } from 'node:fs';
import type { GitResult } from '../call/git.ts';
import { fileAt, pathOf } from '../paths.ts';
import type { WorkTree } from '../work-tree.ts';
import { addAll } from './add.ts';
import { createFilterFailures } from './filter-failures.ts';
import type { Gitlinks } from './gitlinks.ts';
import { readRefusals } from './refusals.ts';
import type { SkippedPaths } from './skipped-paths.ts';

/** Adds files to the index at `tempIndex`, as far as git can. */
export interface Adder {
  /** Adds everything that can be added except nested repositories. Returns null if git fails. */
  add(flags?: readonly string[]): Promise<GitResult | null>;
  /** Returns the nested repositories that are checked out and not skipped. */
  nested(): string[];
  /** The last error of git that is not about a single file; null if there was none since the reset. */
  problem(): string | null;
  reset(): void;
}

/** The maximum number of files that are skipped one by one because git cannot add them. */
const maxRefused = 100;

export const createAdder = (tree: WorkTree, skipped: SkippedPaths, links: Gitlinks): Adder => {
  let problem: string | null = null;
  const nested = (): string[] => {
    const isSkipped = skipped.matcher();
    return links.present().filter((name) => !isSkipped(`${name}/.git`));
  };
  return {
    nested,
    problem: () => problem,
    reset: () => {
      problem = null;
    },
    add: async (flags = []) => {
      const filterFailures = createFilterFailures(tree);
      for (let tries = 0; tries < maxRefused; tries++) {
        const own = skipped.own.folder;
        const names = [...skipped.all().map(({ name }) => name), ...nested(), ...(own === null ? [] : [own])];
        const without = names.filter((name) => existsSync(pathOf(tree.root, name)));
        const result = await addAll(tree, { without, flags });
        const refusals = readRefusals(result.stderr, (name) => fileAt(tree.root, name) === name);
        skipped.addRefused(refusals.files);
        links.add(refusals.empty);
        problem = refusals.other;
        if (wasAdded(result.code)) return result;
        problem ??= result.stderr.split('\n').at(-1) ?? null;
        if (refusals.files.length === 0) return null;
        const skippedNow = [...without, ...refusals.files.map(({ name }) => name)];
        skipped.addRefused(await filterFailures.find(refusals.files, skippedNow));
      }
      return null;
    },
  };
};

/** Everything was added, or everything except unreadable files. */
const wasAdded = (code: number) => code === 0 || code === 1;

/** Parses lines of `add 'name'` and `remove 'name'`; a name may contain line ends. */
export const readVerbose = (output: string): { added: string[]; removed: string[] } => {
  const [added, removed]: [string[], string[]] = [[], []];
  for (const line of output.split(/'\n(?=add '|remove '|$)/).filter(Boolean)) {
    if (line.startsWith("add '")) added.push(line.slice(5));
    else removed.push(line.slice(8));
  }
  return { added, removed };
};
