import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { git } from '../call/git.ts';
import type { WorkTree } from '../work-tree.ts';

/**
 * Files that the index marks as not to be looked at (`git update-index --assume-unchanged`, `--skip-worktree`). An agent
 * could hide its changes with such a mark.
 */
export interface HiddenFiles {
  /** Takes lines of `ls-files -v`, collects the files that are marked, and returns the lines without the tags. */
  collect(lines: readonly string[]): string[];
  /** Removes the marks from the index at `tempIndex`. */
  show(): Promise<void>;
}

export const createHiddenFiles = ({ root, gitDir, tempIndex }: WorkTree): HiddenFiles => {
  // In a sparse checkout, files with this mark do not exist.
  const isSparse = existsSync(join(gitDir, 'info', 'sparse-checkout'));
  let [assumed, skipped]: [string[], string[]] = [[], []];
  const unmark = async (flag: string, names: readonly string[]): Promise<void> => {
    if (names.length === 0) return;
    const call = { cwd: root, env: { GIT_INDEX_FILE: tempIndex }, input: names.join('\0') };
    await git(['update-index', flag, '-z', '--stdin'], call);
  };
  return {
    collect: (lines) => {
      const marked = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).map(nameIn);
      assumed = marked(/^[a-z] /);
      skipped = isSparse ? [] : marked(/^S /i);
      return lines.map((line) => line.slice(2));
    },
    show: async () => {
      await unmark('--no-assume-unchanged', assumed);
      await unmark('--no-skip-worktree', skipped);
    },
  };
};

/** `h 100644 <id> 0\tname` */
const nameIn = (line: string): string => line.slice(line.indexOf('\t') + 1);
