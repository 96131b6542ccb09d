import { lstatSync, rmSync, writeFileSync } from 'node:fs';
import { git } from './call/git.ts';
import { pathOf, toUtf8 } from './paths.ts';
import { reasonFor } from './outcome.ts';
import { type Stoppable, blobAt } from './branches.ts';

export type Rebased =
  | { readonly kind: 'rebased'; readonly commit: string }
  | { readonly kind: 'conflict'; readonly files: readonly string[] }
  | { readonly kind: 'failed'; readonly why: string };

/** The versions of a file with a conflict; null if a side does not have the file. */
export interface Conflict {
  readonly base: Buffer | null;
  readonly upstream: Buffer | null;
  readonly own: Buffer | null;
}

export interface Rebase {
  readonly base: string;
  readonly stoppable: Stoppable;
  /** Returns the resolved file; null if it has to be resolved by hand. */
  readonly resolve: (file: string, conflict: Conflict) => Promise<Buffer | null>;
}

/** Rebases a detached work tree onto a branch. Leaves it unchanged if there are conflicts. */
export const rebaseOnto = async (cwd: string, { base, stoppable, resolve }: Rebase): Promise<Rebased> => {
  // A tag may have the same name.
  const onto = `refs/heads/${base}`;
  const ahead = await git(['merge-base', '--is-ancestor', onto, 'HEAD'], { cwd });
  // Overrides settings of the user: branches that point to the same commits must not move.
  const config = ['rebase.updateRefs=false', 'rebase.autoSquash=false', 'rebase.autoStash=false'];
  let rebase = ahead.code === 0 ? ahead : await git(['rebase', '--quiet', onto], { cwd, config, ...stoppable });
  while (rebase.code !== 0) {
    const files = (await git(['diff', '--name-only', '--diff-filter=U', '-z'], { cwd })).stdout
      .split('\0')
      .filter(Boolean);
    if (files.length === 0 || !(await resolveAll(cwd, files, resolve))) {
      await git(['rebase', '--abort'], { cwd });
      return files.length > 0 ? { kind: 'conflict', files } : { kind: 'failed', why: reasonFor(rebase) };
    }
    rebase = await git(['rebase', '--continue'], { cwd, config, ...stoppable });
  }
  return { kind: 'rebased', commit: (await git(['rev-parse', 'HEAD'], { cwd })).stdout.trim() };
};

const resolveAll = async (cwd: string, files: readonly string[], resolve: Rebase['resolve']): Promise<boolean> => {
  for (const file of files) {
    const [base, upstream, own] = await Promise.all([1, 2, 3].map((stage) => blobAt(cwd, `:${stage}`, toUtf8(file))));
    const bytes = await resolve(toUtf8(file), { base: base!, upstream: upstream!, own: own! });
    if (bytes === null || (await isLinkOrModule(cwd, file))) return false;
    const path = pathOf(cwd, file);
    // If one side is a symbolic link, git may have left it in place. Nothing is written through it.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(path);
    writeFileSync(path, bytes);
    const { code } = await git(['add', '--', `:(literal)${toUtf8(file)}`], { cwd });
    if (code !== 0) return false;
  }
  return true;
};

/** Returns true if one side of a conflict is not a regular file. */
const isLinkOrModule = async (cwd: string, file: string): Promise<boolean> => {
  const { stdout } = await git(['ls-files', '--unmerged', '-z', '--', `:(literal)${toUtf8(file)}`], { cwd });
  return stdout.split('\0').some((entry) => entry !== '' && !entry.startsWith('100'));
};
