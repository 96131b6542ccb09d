import { join, resolve } from 'node:path';
import { createFolder } from '../files/folders.ts';
import { makeReadOnly } from '../files/read-only.ts';
import { writeSafely } from '../files/safe.ts';
import { git, type GitArguments } from './call/git.ts';
import { pathOf, toUtf8 } from './paths.ts';
import { diffTrees } from './diff.ts';
import { type Failed, reasonFor } from './outcome.ts';
import type { WorkTree } from './work-tree.ts';

export interface CopyRequest {
  /** An empty or missing folder. */
  readonly path: string;
  /** The commit with the files. */
  readonly commit: string;
  /** The commit that the branch `base` of the copy names. */
  readonly base: string;
  /** Files that the copy has as they are in `base`. */
  readonly isRestored: (name: string) => boolean;
  readonly kill: AbortSignal;
}

export type Copied =
  | { readonly ok: true; /** The files that differ from `commit`. */ readonly restored: readonly string[] }
  | { readonly ok: false; readonly why: string };

/**
 * Checks a commit out in a separate repository, on the branch `review`. A linked work tree would share branches and
 * other refs with the repository; this copy only reads its objects. The files are read-only, the folders are not: tests
 * may write new files.
 */
export const checkOutCopy = async (tree: WorkTree, request: CopyRequest): Promise<Copied> => {
  const { path, commit, base, kill } = request;
  createFolder(path);
  const asked = await git(['rev-parse', '--git-path', 'objects', '--show-object-format'], { cwd: tree.root });
  const [objects = '', format = 'sha1'] = toUtf8(asked.stdout).split('\n');
  if (asked.code !== 0) return failed(asked);
  const run = (...args: GitArguments) => git(args, { cwd: path, kill });
  const init = await run('init', '--quiet', '--template=', `--object-format=${format}`, '--initial-branch=review');
  if (init.code !== 0) return failed(init);
  createFolder(join(path, '.git', 'objects', 'info'));
  writeSafely(join(path, '.git', 'objects', 'info', 'alternates'), `${resolve(tree.root, objects)}\n`, 'create');
  const differences = await diffTrees(tree, [base, commit], { renames: false });
  if (differences === null) return { ok: false, why: 'git cannot compare the checkpoints' };
  const restored = differences.filter(({ name }) => request.isRestored(toUtf8(name)));
  const steps: GitArguments[] = [
    ['update-ref', 'refs/heads/base', base],
    ['update-ref', 'refs/heads/review', commit],
    ['reset', '--hard', '--quiet'],
    ...(restored.length === 0 ? [] : [restore(restored)]),
  ];
  for (const step of steps) {
    const result = await run(...step);
    if (result.code !== 0) return failed(result);
  }
  const listed = await run('ls-files', '-z');
  if (listed.code !== 0) return failed(listed);
  for (const name of listed.stdout.split('\0').filter(Boolean)) makeReadOnly(pathOf(path, name));
  return { ok: true, restored: restored.map(({ name }) => toUtf8(name)) };
};

const failed = (result: Failed): Copied => ({ ok: false, why: reasonFor(result) });

/** A file that `base` does not have is removed. */
const restore = (files: readonly { readonly name: string }[]): GitArguments => [
  'restore',
  '--quiet',
  '--source=base',
  '--staged',
  '--worktree',
  '--',
  ...files.map(({ name }) => `:(top,literal)${toUtf8(name)}`),
];
