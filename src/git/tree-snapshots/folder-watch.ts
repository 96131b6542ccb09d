import { git } from '../call/git.ts';
import type { WorkTree } from '../work-tree.ts';

/** Reports new files in folders that are skipped as a whole. */
export interface FolderWatch {
  /** Returns the untracked files that are new since the first call with their folder. Each is returned once. */
  findNew(folders: readonly string[]): Promise<string[]>;
}

export const createFolderWatch = ({ root }: WorkTree): FolderWatch => {
  const known = new Map<string, Set<string>>();
  return {
    async findNew(folders) {
      if (folders.length === 0) return [];
      const paths = folders.map((folder) => `:(top,literal)${folder}`);
      const { stdout } = await git(['ls-files', '-z', '--others', '--exclude-standard', '--', ...paths], { cwd: root });
      const names = stdout.split('\0').filter(Boolean);
      return folders.flatMap((folder) => {
        const seen = known.get(folder);
        const inside = names.filter((name) => name.startsWith(folder) && !seen?.has(name));
        known.set(folder, new Set([...(seen ?? []), ...inside]));
        return seen === undefined ? [] : inside;
      });
    },
  };
};
