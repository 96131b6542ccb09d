import { userError } from '../errors.ts';
import { fetchRefs, pushRefs, readRemoteRefs, type Remote } from '../git/remote.ts';
import { borrowObjects, isAncestorInMirror } from '../git/mirror.ts';
import type { ChangeRef } from '../store/change-ref.ts';
import { openPrivateMirror } from '../store/private-mirror.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { hasPushed, recordPush } from '../store/user-state/pushes.ts';

export interface PushRequest extends ChangeRef {
  readonly branch: string;
  /** The commit to push. */
  readonly tip: string;
  /** The name of the remote, for messages. */
  readonly remoteName: string;
  readonly url: string;
}

/** What a branch of the remote has, before anything is pushed. */
export interface RemoteBranch {
  readonly remote: Remote;
  /** null if the remote does not have it. */
  readonly commit: string | null;
  /** The branch that a clone of the remote checks out; null if it is not known. */
  readonly main: string | null;
}

/** Reads the remote. Throws if it cannot be read. */
export const readRemoteBranch = async ({ project, env, branch, url }: PushRequest): Promise<RemoteBranch> => {
  const remote = await openPrivateMirror(url, env);
  if ('why' in remote) throw userError('remote-unreachable', remote.why);
  await borrowObjects(remote, project.root);
  const name = `refs/heads/${branch}`;
  const read = await readRemoteRefs(remote, [name, 'HEAD']);
  if (!read.ok) throw userError('remote-unreachable', read.why);
  return { remote, commit: read.refs.get(name) ?? null, main: read.main };
};

/**
 * Pushes the branch unless the remote has it. Commits that Spool has pushed earlier are replaced if the branch was
 * rewritten since; commits of others never are. Returns whether something was pushed.
 */
export const pushBranch = async (request: PushRequest, { remote, commit }: RemoteBranch): Promise<boolean> => {
  const { branch, tip, remoteName } = request;
  const folder = userStateFolder(request.project, request.change, request.env);
  if (commit === tip) return false;
  const isOwn =
    commit === null || hasPushed(folder, branch, commit) || (await isBehind(remote, { branch, commit, tip }));
  if (!isOwn) throw userError('remote-ahead', branch, remoteName);
  // Recorded first: Spool may be killed after the push.
  recordPush(folder, branch, tip);
  const result = await pushRefs(remote, [{ name: `refs/heads/${branch}`, commit: tip, expected: commit }]);
  if (result.kind === 'moved') throw userError('remote-ahead', branch, remoteName);
  if (result.kind !== 'pushed') throw userError('not-published', branch, remoteName, result.why);
  return true;
};

/** Whether the commit of the remote is part of what is pushed. */
const isBehind = async (
  remote: Remote,
  { branch, commit, tip }: { readonly branch: string; readonly commit: string; readonly tip: string },
): Promise<boolean> => {
  // The repository may not have it.
  await fetchRefs(remote, [`+refs/heads/${branch}:refs/spool/published`]);
  return isAncestorInMirror(remote, commit, tip);
};
