import { relative } from 'node:path';
import { userError } from '../errors.ts';
import { type DisplacedFiles, displace, untrackedInTheWay } from '../git/displaced.ts';
import { fastForward } from '../git/move-branch.ts';
import { worktreeOf } from '../git/linked-worktrees.ts';
import { checkpointRecorder } from '../store/user-state/checkpoints.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { createBackup } from '../git/checkpoint.ts';
import { toUtf8 } from '../git/paths.ts';
import { findWorkTree } from '../git/work-tree.ts';
import { planningPaths } from '../changes/planning-paths.ts';
import { readState } from '../store/state.ts';
import { writeLandingInProgress } from '../store/landing-in-progress.ts';
import { newTempIndex } from '../store/folders.ts';
import { createRedactor } from '../secrets/redact.ts';
import { someOf } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { writeEdits, type Edits, planEdits } from './edits.ts';
import type { Landing } from './landing.ts';
import { whileLocked } from './recover.ts';

/** Fast-forwards the base to the commit, and updates the worktree in which the base is checked out. */
export const fastForwardBase = async (landing: Landing, commit: string): Promise<void> => {
  const { project, change, branch, base, tip, baseTip } = landing;
  writeLandingInProgress(userStateFolder(project, change, landing.env), {
    v: 1,
    branch,
    base,
    tip,
    from: baseTip,
    to: commit,
  });
  const baseWorktree = await worktreeOf(project.root, base);
  if (baseWorktree === null) return moveBase(landing, commit, null);
  await whileLocked(landing, baseWorktree, async () => {
    const edits = await planEdits(landing, baseWorktree, commit);
    const displaced = await displaceUncommitted(landing, { baseWorktree, commit, edits });
    await moveBase(landing, commit, {
      ...displaced,
      drop: () => {
        writeEdits(landing, edits);
        displaced.drop();
      },
    });
  });
};

const moveBase = async (
  { project, base, baseTip, say }: Landing,
  commit: string,
  displaced: DisplacedFiles | null,
): Promise<void> => {
  const moved = await fastForward(project.root, base, commit);
  if (moved.ok) {
    if (moved.otherHooks !== null) say(hooksText(moved.otherHooks, [baseTip, commit]));
    return displaced?.drop();
  }
  displaced?.putBack();
  if (moved.files.length > 0) throw userError('land-blocked', someOf(moved.files), base);
  throw userError('bad-branch', base, moved.why);
};

const hooksText = (folder: string, commits: readonly string[]): string =>
  `No hook was run, because the hooks in ${folder} have changed. See: ${commandLine('git', 'diff', ...commits.map((commit) => commit.slice(0, 12)), '--', folder)}`;

interface DisplaceRequest {
  readonly baseWorktree: string;
  readonly commit: string;
  readonly edits: Edits;
}

/**
 * Moves uncommitted planning files (the change, its module, the config file) out of the way if the branch has them as
 * well. Saves them as a checkpoint first. Throws for any other uncommitted file that is in the way.
 */
const displaceUncommitted = async (
  landing: Landing,
  { baseWorktree, commit, edits }: DisplaceRequest,
): Promise<DisplacedFiles> => {
  const { project, change, target, base, prefix, env, cwd, say } = landing;
  const planning = planningPaths(project, target).map((path) => `${prefix}${path}`);
  const { own, others } = await untrackedInTheWay(baseWorktree, [landing.baseTip, commit], planning);
  if (others.length > 0) throw userError('land-blocked', someOf(others.map(toUtf8)), base);
  const modified = edits.modified.map((name) => Buffer.from(name).toString('latin1'));
  if (own.length + modified.length === 0) return { putBack: () => {}, drop: () => {} };
  const found = await findWorkTree(baseWorktree, newTempIndex(env));
  const run = (await readState(project, change))?.run ?? 'land';
  const kept =
    found.kind === 'found'
      ? await createBackup(found.tree, {
          change,
          run,
          names: [...own, ...modified],
          redactor: createRedactor(env),
          record: checkpointRecorder(project, change, env),
        })
      : null;
  if (kept === null) throw userError('land-backup-failed', baseWorktree);
  const files = [...own.map(toUtf8), ...edits.modified];
  const isMerged = (name: string) => edits.merged.has(name.slice(prefix.length));
  const taken = files.filter((name) => !isMerged(name));
  const merged = files.filter(isMerged);
  const restoreCommand = commandLine(
    'git',
    '-C',
    relative(cwd, baseWorktree) || '.',
    'restore',
    `--source=${kept.commit.slice(0, 12)}`,
    '--',
    ...files,
  );
  const outcomes = [
    ...(taken.length > 0 ? [`taken from the branch: ${someOf(taken)}`] : []),
    ...(merged.length > 0 ? [`merged with the branch: ${someOf(merged)}`] : []),
  ];
  say(
    `Not committed on ${base} and ${outcomes.join('; ')}. Your version is saved as ${kept.name}; restore it with: ${restoreCommand}`,
  );
  return displace(baseWorktree, [...own, ...modified]);
};
