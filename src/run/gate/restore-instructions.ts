import { join } from 'node:path';
import { findVersion } from '../../git/versions.ts';
import { pathInTree } from '../../git/work-tree.ts';
import { keyName, partOf, splitKey } from '../../guard/deciders/parts.ts';
import { hashOfVersion } from '../../guard/goal.ts';
import type { Expectation, Guard } from '../../guard/guard.ts';
import type { Tampering } from '../../guard/memory.ts';
import type { Change } from '../../changes/source.ts';
import { missingTasks } from '../../changes/tasks/missing.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { RunContext } from '../context.ts';

export type RestoreContext = Pick<RunContext, 'tree' | 'target' | 'workProject' | 'guard' | 'plan'>;

const maxInstructions = 3;
/** For a longer value, a git command that shows it is printed instead. */
const maxValueLength = 200;

/**
 * Returns how to restore what was changed in the goal, one line each. Paths are relative to the folder of the agent.
 */
export const restoreInstructions = async (
  context: RestoreContext,
  differences: readonly Tampering[],
): Promise<string[]> => {
  const wanted = new Map(differences.map((each) => [keyOf(each, context.guard), each]));
  const instructions: string[] = [];
  for (const each of [...wanted.values()].slice(0, maxInstructions))
    instructions.push(await restoreInstruction(context, each));
  return instructions;
};

const keyOf = (difference: Tampering, guard: Guard) => guard.expects(difference).key;

const restoreInstruction = async (context: RestoreContext, difference: Tampering): Promise<string> => {
  const { key } = context.guard.expects(difference);
  const { path, part } = splitKey(key);
  if (difference.kind === 'added') return part === null ? commandLine('rm', path) : `remove ${keyName(key)}`;
  const name = difference.kind === 'task' ? `the wording of the tasks in ${path}` : keyName(key);
  if (context.tree === null) return `restore ${name} by hand (there is no git repository)`;
  const version = await expectedVersion(context, difference);
  if (version === null) return `restore ${name} by hand (no matching version in git)`;
  if (difference.kind !== 'task' && part === null)
    return commandLine('git', 'restore', `--source=${version.commit}`, '--', path);
  const value = part === null ? null : partOf(version.bytes.toString('utf8'), part);
  if (value !== null && part?.startsWith('scripts.') && value.length <= maxValueLength)
    return `set ${keyName(key)} back to ${value}`;
  return `restore ${name} as in: ${commandLine('git', 'show', `${version.commit}:./${path}`)}`;
};

/** Returns a commit with the expected version of the file; null if there is none. */
export const expectedVersion = async (
  { tree, target, workProject, guard, plan }: RestoreContext,
  difference: Tampering,
): Promise<{ commit: string; bytes: Buffer } | null> => {
  if (tree === null) return null;
  const expectation = guard.expects(difference);
  const path = pathInTree(tree, join(workProject.root, splitKey(expectation.key).path));
  if (path.startsWith('..')) return null;
  return await findVersion(tree, { path, change: plan.change, matches: matcherFor(expectation, target) });
};

const matcherFor = (expectation: Expectation, target: Change) => (bytes: Buffer) => {
  switch (expectation.kind) {
    case 'hash':
      return hashOfVersion(expectation.key, bytes, target) === expectation.hash;
    case 'tasks':
      return missingTasks(expectation.titles, target.format.titles(bytes.toString('utf8'))).length === 0;
  }
};
