import { relative } from 'node:path';
import type { Change } from '../changes/source.ts';
import { branchOf } from '../changes/branch.ts';
import { userError } from '../errors.ts';
import { commitsBeyond, configuredBase, currentBranch, dirtyPaths, tipOf } from '../git/branches.ts';
import { prefixOf } from '../git/repository.ts';
import { toUtf8 } from '../git/paths.ts';
import { isWorktree } from '../git/linked-worktrees.ts';
import { whyIncomplete } from '../land/complete.ts';
import { whyDirty } from '../land/dirty.ts';
import type { ChangeRef } from '../store/change-ref.ts';
import { newPrivateFolder } from '../store/folders.ts';
import { worktreePath } from '../store/paths.ts';
import { loadRun } from '../store/state.ts';
import { recordedBase } from '../store/user-state/branches.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { someOf } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { githubAddress } from './github-address.ts';
import { markedBody } from './marked-body.ts';
import {
  createPullRequest,
  editPullRequest,
  findPullRequest,
  type GithubRepository,
  markReady,
  type PullRequest,
} from './pull-request.ts';
import { pushBranch, type PushRequest, readRemoteBranch } from './push.ts';

export interface PublishRequest extends ChangeRef {
  readonly target: Change;
  readonly remoteName: string;
  readonly url: string;
  /** The branch that it is to be merged into; null for the one from which the branch was created. */
  readonly base: string | null;
  /** Publish even if the change is not complete. */
  readonly force: boolean;
  /** Not as a draft. */
  readonly ready: boolean;
  readonly title: string;
  /** Markdown of at most this length, without secrets. */
  readonly body: (maxLength: number) => string;
  readonly stop: AbortSignal;
  /** Prints a line for the user. */
  say(line: string): void;
  /** Asks a question; null if there is no terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
}

/**
 * Pushes the branch of a change and opens its pull request, or updates the one that is open. Asks GitHub before it pushes.
 * Returns a line that describes the outcome.
 */
export const publish = async (request: PublishRequest): Promise<string> => {
  const { project, env, stop, url, remoteName, say } = request;
  const plan = await planPublication(request);
  const { branch, base, tip } = plan;
  if ((await commitsBeyond(project.root, `refs/heads/${base}`, tip)) === 0)
    return `Nothing to publish: ${branch} has no commits beyond ${base}.`;
  if (!(await mayPublish(request, branch))) return 'Cancelled.';
  const repository: GithubRepository = {
    project,
    env,
    stop,
    address: githubAddress(url),
    folder: newPrivateFolder(env),
  };
  const known = await findPullRequest(repository, branch);
  if (known?.state === 'MERGED' && known.head === tip)
    return `Nothing to publish: the pull request of ${branch} was merged (${known.url}).`;
  if (known?.state === 'CLOSED') {
    const where = repository.address === null ? [] : ['--repo', repository.address];
    throw userError('pull-closed', known.url, commandLine('gh', 'pr', 'reopen', String(known.number), ...where));
  }
  const pushing: PushRequest = { ...request, branch, tip };
  const onRemote = await readRemoteBranch(pushing);
  if (onRemote.main === branch)
    throw userError('own-branch', branch, `it is the main branch of ${remoteName}. Run the change with --worktree`);
  if (stop.aborted) throw userError('interrupted', 130, 'nothing was pushed');
  if (await pushBranch(pushing, onRemote)) say(`Pushed ${branch} to ${remoteName}.`);
  return openOrUpdate(request, repository, { ...plan, known: known?.state === 'OPEN' ? known : null });
};

interface Publication {
  readonly branch: string;
  readonly base: string;
  readonly tip: string;
}

const planPublication = async (request: PublishRequest): Promise<Publication> => {
  const { project, change, env, say } = request;
  const { view, damage } = await loadRun(project, change);
  if (damage !== null) say(damage);
  const branch = view?.workspace?.branch ?? branchOf(change);
  const tip = await tipOf(project.root, branch);
  if (tip === null)
    throw userError('no-branch', branch, 'publish', commandLine('spool', 'ralph', '--change', change, '--worktree'));
  const recorded = recordedBase(userStateFolder(project, change, env), branch);
  // A branch that no run has used may be any branch of the user.
  if (recorded === undefined && branch !== branchOf(change))
    throw userError('own-branch', branch, 'no run of this change on it is known here');
  const base = request.base ?? (recorded === undefined ? await configuredBase(project.root, branch) : recorded);
  if (base === null) throw userError('no-base', branch, '--base');
  if (base === branch)
    throw userError('own-branch', branch, 'it is also the branch to merge it into. Pass another --base');
  await refuseUncommitted(request, branch);
  return { branch, base, tip };
};

/** Throws if the worktree has work that is not on the branch. In the folder of the user, it only says so. */
const refuseUncommitted = async ({ project, change, target, say }: PublishRequest, branch: string): Promise<void> => {
  const worktree = worktreePath(project, change);
  if (await isWorktree(project.root, worktree)) {
    const why = await whyDirty({ project, target, branch, prefix: await prefixOf(project.root) }, worktree);
    if (why !== null) throw userError('dirty-worktree', relative(project.root, worktree), branch, why);
    return;
  }
  if ((await currentBranch(project.root)) !== branch) return;
  const dirty = ((await dirtyPaths(project.root)) ?? []).map(toUtf8);
  if (dirty.length > 0) say(`Not committed, so not published: ${someOf(dirty)}.`);
};

/** A change whose last run is not complete is published only with --force, or if the user confirms. */
const mayPublish = async (request: PublishRequest, branch: string): Promise<boolean> => {
  const { project, change, target, env, force, confirm } = request;
  const why = force ? null : await whyIncomplete(project, { target, branch, env });
  if (why === null) return true;
  if (confirm === null) throw userError('not-complete', change, why, 'Publish');
  return confirm(`${change} is not complete (${why}). Publish it anyway?`);
};

const openOrUpdate = async (
  { change, title, body, ready }: PublishRequest,
  repository: GithubRepository,
  { branch, base, known }: Publication & { readonly known: PullRequest | null },
): Promise<string> => {
  if (known === null) {
    const pull = { branch, base, title, body: markedBody(body, null), isDraft: !ready };
    const url = await createPullRequest(repository, pull);
    return `Opened a ${ready ? '' : 'draft '}pull request for ${change}: ${url}`;
  }
  const text = markedBody(body, known.body);
  const isSame = text.trim() === known.body.replaceAll('\r\n', '\n').trim();
  if (!isSame) await editPullRequest(repository, branch, { number: known.number, body: text });
  const isMarked = ready && known.isDraft;
  if (isMarked) await markReady(repository, branch, known.number);
  const name = `${known.isDraft && !isMarked ? 'draft ' : ''}pull request of ${change}`;
  if (isMarked) return `Marked the ${name} as ready: ${known.url}`;
  return isSame ? `The ${name} is up to date: ${known.url}` : `Updated the ${name}: ${known.url}`;
};
