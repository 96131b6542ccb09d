import { removeSafely, writeSafely } from '../files/safe.ts';
import { tagVariable } from '../process/tree.ts';
import { headOf } from './branches.ts';
import { git } from './call/git.ts';
import { noFetch } from './call/inert.ts';
import { commitErrorLine, type CommitRequest } from './commit.ts';
import { reasonFor } from './outcome.ts';
import { toUtf8 } from './paths.ts';
import { headBranch, isIntact, operationInProgress, type WorkTree } from './work-tree.ts';

export interface AmendRequest extends Pick<CommitRequest, 'kill' | 'tag' | 'sandbox'> {
  readonly commit: string;
  /** Returns the new message. Both are in latin1, which preserves every byte. */
  readonly message: (current: string) => string;
}

export type AmendResult =
  | { readonly kind: 'amended'; readonly commit: string }
  /** It has this message already. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Changes the message of the commit that is checked out, and nothing else: the tree, the parents, the author and the
 * times stay, so the same message always leads to the same commit. The branch moves only if it still has the old commit.
 * Refuses if something else may know the old commit. The hook `commit-msg` runs, and `reference-transaction`.
 */
export const amendMessage = async (tree: WorkTree, request: AmendRequest): Promise<AmendResult> => {
  const { commit, tag, kill, sandbox } = request;
  const current = isIntact(tree) ? await readCommit(tree, commit) : null;
  if (current === null) return { kind: 'refused', why: 'git cannot read it' };
  const message = request.message(current.message);
  if (message === current.message) return { kind: 'unchanged' };
  const why = (await whyNotAmended(tree, commit, current)) ?? (await refusedByHook(tree, message, request));
  if (why !== null) return { kind: 'refused', why };
  const cwd = tree.root;
  const stored = await git(['hash-object', '-t', 'commit', '-w', '--stdin'], {
    cwd,
    input: `${current.header}\n\n${message}`,
  });
  if (stored.code !== 0) return { kind: 'refused', why: reasonFor(stored) };
  const amended = stored.stdout.trim();
  const moved = await git(['update-ref', '-m', 'spool: amend the message', 'HEAD', amended, commit], {
    cwd,
    env: { [tagVariable]: tag },
    hooks: true,
    kill,
    sandbox,
  });
  // git also fails if a hook is killed after the branch has moved.
  if (moved.code === 0 || (await headOf(tree.root)) === amended) return { kind: 'amended', commit: amended };
  return { kind: 'refused', why: commitErrorLine(moved.stderr) };
};

export interface CommitText {
  /** The lines about the tree, the parents, the author and the committer. */
  readonly header: string;
  readonly message: string;
}

/** Returns a commit as it is stored, in latin1; null if git fails. */
export const readCommit = async ({ root }: Pick<WorkTree, 'root'>, commit: string): Promise<CommitText | null> => {
  const { code, stdout } = await git(['cat-file', 'commit', commit], { cwd: root, env: noFetch });
  const end = stdout.indexOf('\n\n');
  return code === 0 && end !== -1 ? { header: stdout.slice(0, end), message: stdout.slice(end + 2) } : null;
};

/** A signature is about the old message. In another encoding, text cannot simply be appended. */
const isBound = ({ header }: CommitText): boolean => /^(?:gpgsig|encoding|mergetag)/m.test(header);

const whyNotAmended = async (tree: WorkTree, commit: string, current: CommitText): Promise<string | null> => {
  if (isBound(current)) return 'it is signed, or has another encoding';
  const busy = operationInProgress(tree);
  if (busy !== null) return `${busy} is in progress`;
  const branch = headBranch(tree);
  if (branch === null) return 'HEAD is detached';
  if ((await headOf(tree.root)) !== commit) return `${branch} has other commits by now`;
  const { code, stdout } = await git(['for-each-ref', '--format=%(refname)', `--contains=${commit}`], {
    cwd: tree.root,
    env: noFetch,
  });
  if (code !== 0) return 'git cannot list the branches that have it';
  const isOwn = (ref: string) => ref === `refs/heads/${branch}` || /^refs\/spool(?:-work)?\//.test(ref);
  const other = toUtf8(stdout)
    .split('\n')
    .find((ref) => ref !== '' && !isOwn(ref));
  return other === undefined ? null : `${other.replace(/^refs\/(?:heads|remotes|tags)\//, '')} has it as well`;
};

/** Returns why the hook for messages refuses this one; null if it does not, or if there is none. */
const refusedByHook = async (
  tree: WorkTree,
  message: string,
  { kill, tag, sandbox }: AmendRequest,
): Promise<string | null> => {
  const file = sandbox?.newFile() ?? `${tree.tempIndex}.message`;
  try {
    writeSafely(file, Buffer.from(message, 'latin1'), 'create');
    const { code, stdout, stderr } = await git(['hook', 'run', '--ignore-missing', 'commit-msg', '--', file], {
      cwd: tree.root,
      env: { [tagVariable]: tag },
      hooks: true,
      kill,
      sandbox,
    });
    return code === 0 ? null : commitErrorLine(`${toUtf8(stdout)}\n${stderr}`.trim()) || 'the commit-msg hook failed';
  } finally {
    removeSafely(file);
  }
};
