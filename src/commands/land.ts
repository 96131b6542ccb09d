import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { resolveOptions, type TypedFlags } from '../config.ts';
import { userError } from '../errors.ts';
import {
  addDetached,
  baseOf,
  branchExists,
  dirtyPaths,
  fastForward,
  holdsRepositories,
  isWorktree,
  moveBranch,
  rebaseOnto,
  removeWorktree,
  tipOf,
} from '../git/branches.ts';
import { readable } from '../git/git.ts';
import { gitFolderOf } from '../git/worktree.ts';
import { runShell } from '../harness/shell.ts';
import { resolveChange } from '../project/changes.ts';
import { addContext } from '../project/context.ts';
import { findProject, type Project, worktreePath } from '../project/find.ts';
import { lockChange, makeRalphFolder, ralphFolder, readState } from '../project/state.ts';
import { createRedactor } from '../redact.ts';
import type { Call } from './command.ts';
import { exitCodeOf, listenForStops } from './ralph/signals.ts';

/** Brings the branch of a change to where it began: rebased, verified, and then only moved ahead. */
export const run = async (call: Call): Promise<number> => {
  const project = findProject(call.cwd);
  const change = await resolveChange(project, call.argument!);
  const folder = await gitFolderOf(project.root);
  if (folder === null) throw userError('no-git', project.root, 'it is no git repository');
  const lock = lockChange(project, change, { treeFolder: folder });
  try {
    return await land(project, change, call);
  } finally {
    lock.release();
  }
};

interface Landing {
  readonly project: Project;
  readonly change: string;
  readonly branch: string;
  readonly base: string;
  /** Where the branch was when this began. */
  readonly tip: string;
  readonly call: Call;
}

const land = async (project: Project, change: string, call: Call): Promise<number> => {
  const branch = (await readState(project, change))?.place?.branch ?? `ralph/${change}`;
  if (!(await branchExists(project.root, branch)))
    throw userError('no-branch', branch, `spool ralph --change ${change} --worktree`);
  const base = (call.typed.onto as string | undefined) ?? (await baseOf(project.root, branch));
  if (base === null || base === branch || !(await branchExists(project.root, base))) throw userError('no-base', branch);
  const tip = (await tipOf(project.root, branch))!;
  await refuseDirty(project, change);
  const landing = { project, change, branch, base, tip, call };
  const trial = join(mkdtempSync(join(tmpdir(), 'spool-land-')), 'tree');
  const added = await addDetached(project.root, trial, branch);
  if (!added.ok) throw userError('bad-branch', branch, added.why);
  try {
    return await landFrom(landing, trial);
  } finally {
    await removeWorktree(project.root, trial);
    rmSync(join(trial, '..'), { recursive: true, force: true });
  }
};

const landFrom = async ({ project, change, branch, base, tip, call }: Landing, trial: string): Promise<number> => {
  const rebased = await rebaseOnto(trial, base);
  if (rebased.kind === 'conflict') {
    const files = rebased.files.map(readable).join(', ') || rebased.why;
    addContext(
      project,
      change,
      `Landing on ${base} failed: the work conflicts with it in ${files}. Rebase ${branch} on ${base} (git rebase ${base}), resolve the conflicts, and verify the work again.`,
    );
    throw userError('land-conflict', base, files, `spool ralph --change ${change} --worktree`);
  }
  const red = await verify({ project, change, call }, trial);
  if (red !== null) throw userError('land-red', red.command, red.log);
  const moved = await fastForward(project.root, base, rebased.commit);
  if (!moved.ok) throw userError('bad-branch', base, moved.why);
  await tidy({ project, change, branch, tip }, rebased.commit);
  call.terminal.out(`Landed ${change}: ${base} is at ${rebased.commit.slice(0, 8)}. Nothing was pushed.\n`);
  return 0;
};

/** The gate of the last run, or of the config file and the flags; the first command that is red. */
const verify = async (
  { project, change, call }: Pick<Landing, 'project' | 'change' | 'call'>,
  trial: string,
): Promise<{ command: string; log: string } | null> => {
  const { onto: _, ...typed } = call.typed;
  const { forChange, asked } = await resolveOptions({ typed: typed as TypedFlags, env: call.env, project });
  const options = forChange(change);
  const kept = (await readState(project, change))?.gate.verify ?? [];
  const commands = asked.has('verify') || kept.length === 0 ? options.verify : kept;
  makeRalphFolder(project, change);
  const logFile = join(ralphFolder(project, change), 'land.log');
  const stops = listenForStops(() => {});
  try {
    for (const command of commands) {
      call.terminal.say(`Verifying: ${command}\n`);
      const result = await runShell({
        command,
        cwd: trial,
        env: call.env,
        tag: `land-${process.pid}/${change}`,
        logFile,
        timeoutMs: options.verifyTimeout,
        stopGraceMs: options.stopGrace,
        stops,
        redactor: createRedactor(call.env),
      });
      if (result.outcome === 'interrupted')
        throw userError('interrupted', exitCodeOf(stops.received() ?? 'SIGTERM'), 'nothing was moved');
      if (result.outcome !== 'passed') return { command, log: relative(project.root, logFile) };
    }
    return null;
  } finally {
    stops.dispose();
  }
};

/** Work that is in the worktree only would be left behind. */
const refuseDirty = async (project: Project, change: string): Promise<void> => {
  const worktree = worktreePath(project, change);
  if (!(await isWorktree(project.root, worktree))) return;
  const dirty = await dirtIn(worktree);
  if (dirty !== null) throw userError('dirty-worktree', relative(project.root, worktree), dirty);
};

/** A file that is not committed; null when there is none. The copies of the change itself are not work. */
const dirtIn = async (worktree: string): Promise<string | null> => {
  const dirty = await dirtyPaths(worktree);
  if (dirty === null) return 'what git cannot tell';
  return dirty.map(readable).find((path) => !path.startsWith('.spool/')) ?? null;
};

/** What has landed needs no place of its own any more; but what came after it was looked at does. */
const tidy = async (
  { project, change, branch, tip }: Pick<Landing, 'project' | 'change' | 'branch' | 'tip'>,
  commit: string,
): Promise<void> => {
  const worktree = worktreePath(project, change);
  if ((await tipOf(project.root, branch)) !== tip) return;
  if (await isWorktree(project.root, worktree)) {
    if ((await dirtIn(worktree)) !== null || (await holdsRepositories(worktree))) return;
    await removeWorktree(project.root, worktree);
  }
  await moveBranch(project.root, branch, [tip, commit]);
};
