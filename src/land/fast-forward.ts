import { relative } from 'node:path';
import { userError } from '../errors.ts';
import { type DisplacedFiles, displace, untrackedInTheWay } from '../git/displaced.ts';
import { fastForward, worktreeOf } from '../git/branches.ts';
import { checkpointRecorder } from '../store/record.ts';
import { keepPresent } from '../git/checkpoint.ts';
import { toUtf8 } from '../git/git.ts';
import { findWorkTree } from '../git/worktree.ts';
import { planningPaths } from '../changes/planning-paths.ts';
import { recordFolder } from '../store/record.ts';
import { readState } from '../store/state.ts';
import { writeLandingInProgress } from '../store/landing-in-progress.ts';
import { newTempIndex } from '../store/folders.ts';
import { createRedactor } from '../secrets/redact.ts';
import { someOf } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { writeEdits, type Edits, planEdits } from './edits.ts';
import type { Landing } from './landing.ts';
import { whileLocked } from './recover.ts';

/** Moves the base to the commit, with the files of the folder in which it is checked out. */
export const fastForwardBase = async (landing: Landing, commit: string): Promise<void> => {
  const { project, change, branch, base, tip, baseTip } = landing;
  writeLandingInProgress(recordFolder(project, change, landing.env), {
    v: 1,
    branch,
    base,
    tip,
    from: baseTip,
    to: commit,
  });
  const holder = await worktreeOf(project.root, base);
  if (holder === null) return forward(landing, commit, null);
  await whileLocked(landing, holder, async () => {
    const edits = await planEdits(landing, holder, commit);
    const aside = await clearPath(landing, { holder, commit, edits });
    await forward(landing, commit, {
      ...aside,
      drop: () => {
        writeEdits(landing, edits);
        aside.drop();
      },
    });
  });
};

const forward = async (
  { project, base, baseTip, say }: Landing,
  commit: string,
  aside: DisplacedFiles | null,
): Promise<void> => {
  const moved = await fastForward(project.root, base, commit);
  if (moved.ok) {
    if (moved.otherHooks !== null) say(hooksText(moved.otherHooks, [baseTip, commit]));
    return aside?.drop();
  }
  aside?.putBack();
  if (moved.files.length > 0) throw userError('land-blocked', someOf(moved.files), base);
  throw userError('bad-branch', base, moved.why);
};

const hooksText = (folder: string, commits: readonly string[]): string =>
  `No hook was run, as the hooks in ${folder} are others than before. See: ${commandLine('git', 'diff', ...commits.map((commit) => commit.slice(0, 12)), '--', folder)}`;

interface Way {
  readonly holder: string;
  readonly commit: string;
  readonly edits: Edits;
}

/**
 * The change, its module and the config file may be untracked or changed where the base is checked out, while the
 * branch has them too. They give way, once they are kept; anything else that is not committed does not.
 */
const clearPath = async (landing: Landing, { holder, commit, edits }: Way): Promise<DisplacedFiles> => {
  const { project, change, base, prefix, env, cwd, say } = landing;
  const planning = planningPaths(project, change).map((path) => `${prefix}${path}`);
  const { own, others } = await untrackedInTheWay(holder, [landing.baseTip, commit], planning);
  if (others.length > 0) throw userError('land-blocked', someOf(others.map(toUtf8)), base);
  const modified = edits.modified.map((name) => Buffer.from(name).toString('latin1'));
  if (own.length + modified.length === 0) return { putBack: () => {}, drop: () => {} };
  const found = await findWorkTree(holder, newTempIndex(env));
  const run = (await readState(project, change))?.run ?? 'land';
  const kept =
    found.kind === 'found'
      ? await keepPresent(found.tree, {
          change,
          run,
          names: [...own, ...modified],
          redactor: createRedactor(env),
          record: checkpointRecorder(project, change, env),
        })
      : null;
  if (kept === null) throw userError('land-backup-failed', holder);
  const files = [...own.map(toUtf8), ...edits.modified];
  const isMerged = (name: string) => edits.merged.has(name.slice(prefix.length));
  const taken = files.filter((name) => !isMerged(name));
  const merged = files.filter(isMerged);
  const back = commandLine(
    'git',
    '-C',
    relative(cwd, holder) || '.',
    'restore',
    `--source=${kept.commit.slice(0, 12)}`,
    '--',
    ...files,
  );
  const done = [
    ...(taken.length > 0 ? [`taken from the branch: ${someOf(taken)}`] : []),
    ...(merged.length > 0 ? [`merged with the branch: ${someOf(merged)}`] : []),
  ];
  say(
    `Not committed on ${base} and ${done.join('; ')}. Your version is saved as ${kept.name}; restore it with: ${back}`,
  );
  return displace(holder, [...own, ...modified]);
};
