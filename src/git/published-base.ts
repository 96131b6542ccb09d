import { currentBranch, headOf } from './branches.ts';
import { git } from './call/git.ts';
import { toUtf8 } from './paths.ts';
import { reasonFor } from './outcome.ts';

export interface PublishedBase {
  readonly branch: string;
  readonly commit: string;
}

export type Unpublished = { readonly why: string; readonly fix: string };

/** How long the remote may take to answer. */
const networkMs = 60_000;

/** The commit that is checked out, if the remote has it on the same branch and these paths have no other changes. */
export const publishedBase = async (
  cwd: string,
  remote: string,
  paths: readonly string[],
): Promise<PublishedBase | Unpublished> => {
  const push = { fix: `Commit it, and run: git push ${remote} HEAD` };
  const [branch, commit] = [await currentBranch(cwd), await headOf(cwd)];
  if (branch === null || commit === null)
    return { why: 'No branch is checked out', fix: 'Check out the branch that the work starts from.' };
  const status = await git(['status', '--porcelain', '-z', '--untracked-files=all', '--', ...paths], { cwd });
  const dirty = toUtf8(status.stdout).split('\0').find(Boolean);
  if (dirty !== undefined) return { why: `${dirty.slice(3)} is not committed`, ...push };
  const listed = await git(['ls-remote', '--', remote, `refs/heads/${branch}`], { cwd, networkMs });
  if (listed.code !== 0)
    return { why: `The remote ${remote} cannot be read (${reasonFor(listed)})`, fix: 'Check your access.' };
  const tip = listed.stdout.split('\t', 1)[0]?.trim() ?? '';
  if (tip === '') return { why: `${remote} has no branch ${branch}`, ...push };
  if (tip === commit) return { branch, commit };
  const isAncestor = await git(['merge-base', '--is-ancestor', commit, tip], { cwd });
  if (isAncestor.code === 0) return { branch, commit };
  return { why: `Your commits on ${branch} are not on ${remote}`, ...push };
};
