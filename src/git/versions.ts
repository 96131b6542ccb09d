import { git } from './call/git.ts';
import { listCheckpoints } from './checkpoint.ts';
import type { WorkTree } from './work-tree.ts';

export interface WantedVersion {
  /** Relative to the root of the work tree. */
  readonly path: string;
  readonly change: string;
  matches(bytes: Buffer): boolean;
}

/** The maximum number of commits, and of checkpoints, that are examined. */
const maxVersions = 50;

/**
 * Returns the first commit whose version of a file matches, and that version. Looks at the branch, then at checkpoints.
 */
export const findVersion = async (
  tree: WorkTree,
  { path, change, matches }: WantedVersion,
): Promise<{ commit: string; bytes: Buffer } | null> => {
  const log = await git(['log', '--format=%H', `--max-count=${maxVersions}`, 'HEAD', '--', `:(literal)${path}`], {
    cwd: tree.root,
  });
  const kept = (await listCheckpoints(tree, change)).map(({ commit }) => commit);
  const commits = [...new Set([...log.stdout.split('\n').filter(Boolean), ...kept.toReversed()])].slice(
    0,
    2 * maxVersions,
  );
  if (commits.length === 0) return null;
  const name = Buffer.from(path).toString('latin1');
  const { stdout } = await git(['cat-file', '--batch-check'], {
    cwd: tree.root,
    input: commits.map((commit) => `${commit}:${name}\n`).join(''),
  });
  const seen = new Set<string>();
  for (const [index, line] of stdout.split('\n').entries()) {
    const blob = /^(\w+) blob /.exec(line)?.[1];
    if (blob === undefined || seen.has(blob)) continue;
    seen.add(blob);
    const bytes = Buffer.from((await git(['cat-file', 'blob', blob], { cwd: tree.root })).stdout, 'latin1');
    if (matches(bytes)) return { commit: commits[index]!.slice(0, 12), bytes };
  }
  return null;
};

/** Returns true if a file equals its version in HEAD, and commits since that time have changed it. */
export const wasCommittedSince = async ({ root }: WorkTree, path: string, sinceMs: number): Promise<boolean> => {
  const file = ['--', `:(literal)${path}`];
  const then = await git(['rev-parse', '--verify', '--quiet', `HEAD@{${Math.ceil(sinceMs / 1000)}}`], { cwd: root });
  if (then.code !== 0) return false;
  const same = await git(['diff', '--quiet', 'HEAD', ...file], { cwd: root });
  const moved = await git(['diff', '--quiet', then.stdout.trim(), 'HEAD', ...file], { cwd: root });
  return same.code === 0 && moved.code === 1;
};
