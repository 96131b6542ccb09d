import { join, relative } from 'node:path';
import { findVersion } from '../git/versions.ts';
import type { WorkTree } from '../git/worktree.ts';
import { keyName, partOf, splitKey } from '../guard/deciders/parts.ts';
import { hashOfVersion } from '../guard/goal.ts';
import type { Expectation, Guard, Tampering } from '../guard/guard.ts';
import { missingTasks, taskTitles } from '../changes/tasks.ts';
import { commandLine } from '../text/shell-words.ts';
import type { RunContext } from './context.ts';

export type RestoreContext = Pick<RunContext, 'tree' | 'work' | 'guard' | 'plan'>;

/** For how many of them the way back is shown. */
const most = 3;
/** A value that is longer is shown by git. */
const longestValue = 200;

/** How to put back what was changed of the goal, in one line each, for somebody in the folder where the agent works. */
export const waysBack = async (context: RestoreContext, moved: readonly Tampering[]): Promise<string[]> => {
  const wanted = new Map(moved.map((each) => [keyOf(each, context.guard), each]));
  const ways: string[] = [];
  for (const each of [...wanted.values()].slice(0, most)) ways.push(await wayBack(context, each));
  return ways;
};

const keyOf = (moved: Tampering, guard: Guard) => guard.expects(moved).key;

const wayBack = async (context: RestoreContext, moved: Tampering): Promise<string> => {
  const { key } = context.guard.expects(moved);
  const { path, part } = splitKey(key);
  if (moved.kind === 'added') return part === null ? commandLine('rm', path) : `remove ${keyName(key)}`;
  const name = moved.kind === 'task' ? `the wording of the tasks in ${path}` : keyName(key);
  if (context.tree === null) return `restore ${name} by hand (there is no git repository)`;
  const version = await expectedVersion(context, moved);
  if (version === null) return `restore ${name} by hand (no matching version in git)`;
  if (moved.kind !== 'task' && part === null)
    return commandLine('git', 'restore', `--source=${version.commit}`, '--', path);
  const value = part === null ? null : partOf(version.bytes.toString('utf8'), part);
  if (value !== null && part?.startsWith('scripts.') && value.length <= longestValue)
    return `set ${keyName(key)} back to ${value}`;
  return `restore ${name} as in: ${commandLine('git', 'show', `${version.commit}:./${path}`)}`;
};

/** A commit that has the file as it should be; null when there is none. */
export const expectedVersion = async (
  { tree, work, guard, plan }: RestoreContext,
  moved: Tampering,
): Promise<{ commit: string; bytes: Buffer } | null> => {
  if (tree === null) return null;
  const expectation = guard.expects(moved);
  const path = pathIn(tree, join(work.root, splitKey(expectation.key).path));
  return path.startsWith('..') ? null : findVersion(tree, { path, change: plan.change, fits: fitsTo(expectation) });
};

/** As git names it. */
export const pathIn = (tree: WorkTree, file: string): string => relative(tree.root, file).replaceAll('\\', '/');

const fitsTo = (expectation: Expectation) => (bytes: Buffer) => {
  switch (expectation.kind) {
    case 'hash':
      return hashOfVersion(expectation.key, bytes) === expectation.hash;
    case 'tasks':
      return missingTasks(expectation.titles, taskTitles(bytes.toString('utf8'))).length === 0;
  }
};
