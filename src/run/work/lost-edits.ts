import { join, relative } from 'node:path';
import type { FileDiff } from '../../git/diff.ts';
import { toUtf8 } from '../../git/paths.ts';
import { rawDiff } from '../../git/raw-diff.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import { realPath } from '../../process/which.ts';
import type { Uncommitted } from '../../ralph/events.ts';
import { someOf } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { RunContext } from '../context.ts';
import { isThere } from './skipped-list.ts';
import type { Snapshot } from './snapshots.ts';

/**
 * Uncommitted changes of the user that an iteration has removed from the folder, for example with `git stash`: the last
 * checkpoint that has them, by the git names of the files.
 */
type LostEdits = Map<string, SavedCheckpoint>;

interface SavedCheckpoint {
  readonly name: string;
  readonly commit: string;
}

interface LostEditsContext extends Pick<RunContext, 'project' | 'emit'> {
  readonly tree: WorkTree;
  readonly lostEdits: LostEdits;
}

/** An iteration that began with uncommitted changes of the user. */
export interface EditedIteration extends LostEditsContext {
  readonly before: Snapshot;
  /** The checkpoint with the files of `before`; null if git could not save it. */
  readonly beginning: SavedCheckpoint | null;
  /** The versions of the files with uncommitted changes of the user, by git name. */
  readonly userEdits: ReadonlyMap<string, string>;
}

interface Changed {
  readonly changes: readonly FileDiff[];
  /** The commits that the iteration created. */
  readonly commits: readonly string[];
}

/** Finds and announces the changes of the user that an iteration has removed. Returns the git names of the files. */
export const reportLostEdits = async (
  work: EditedIteration,
  after: Snapshot,
  changed: Changed,
): Promise<Set<string>> => {
  const { beginning, lostEdits, emit } = work;
  const names = await findLost(work, after, changed);
  if (names.length > 0) {
    if (beginning !== null) for (const name of names) lostEdits.set(name, beginning);
    const saved =
      beginning === null ? '' : ` They are in checkpoint ${beginning.name}; ${howToRestore(work, beginning, names)}`;
    emit({
      type: 'notice',
      text: `Your uncommitted changes to ${someOf(names.map(toUtf8))} are no longer in the folder.${saved}`,
    });
  }
  return new Set(names);
};

/** Returns the changes of the user that are still not in the folder, by checkpoint. `now` is null if git fails. */
export const stillLost = async (context: LostEditsContext, now: Snapshot | null): Promise<Uncommitted[]> => {
  const { tree, lostEdits } = context;
  const found: Uncommitted[] = [];
  for (const checkpoint of new Set(lostEdits.values())) {
    const names = [...lostEdits].filter(([, saved]) => saved === checkpoint).map(([name]) => name);
    const differing = now && (await rawDiff(tree.root, checkpoint.commit, now.id));
    const lost = names.filter((name) => differing?.has(name) ?? true);
    if (lost.length === 0) continue;
    const why = `yours, no longer in the folder; ${howToRestore(context, checkpoint, lost)}`;
    found.push({ why, files: lost.slice(0, maxNames).map(toUtf8), count: lost.length });
  }
  return found;
};

const maxNames = 20;

/** A file counts if it is deleted or equals HEAD. An agent that edits it further keeps the changes of the user. */
const findLost = async (work: EditedIteration, after: Snapshot, { changes, commits }: Changed): Promise<string[]> => {
  const { tree, before, userEdits } = work;
  const edited = changes.filter(
    ({ name, from, nested, before: old }) => from === null && !nested && userEdits.get(name) === old,
  );
  if (edited.length === 0 || before.head === null || after.head === null) return [];
  // Commits of the agent may have its own edits of these files.
  const head = commits.length > 0 ? before.head : after.head;
  const now = await rawDiff(tree.root, head, after.id);
  const isLost = ({ name, status }: FileDiff) =>
    status === 'deleted' ? !isThere(tree, name) : now !== null && !now.has(name);
  let lost = edited.filter(isLost).map(({ name }) => name);
  for (const commit of [before.head, ...commits]) {
    if (lost.length === 0) break;
    const missing = await rawDiff(tree.root, commit, before.id);
    lost = lost.filter((name) => missing?.has(name) ?? true);
  }
  return lost;
};

/** Names the first file only, if all of them would make the command too long. */
const howToRestore = (
  { project, tree }: Pick<LostEditsContext, 'project' | 'tree'>,
  { commit }: SavedCheckpoint,
  names: readonly string[],
): string => {
  const paths = names.map((name) => relative(realPath(project.root), join(realPath(tree.root), toUtf8(name))));
  const restore = (files: readonly string[]) =>
    commandLine('git', 'restore', `--source=${commit.slice(0, 8)}`, '--', ...files);
  const all = restore(paths);
  if (all.length <= maxCommandLength) return `to get ${names.length === 1 ? 'it' : 'them'} back: ${all}`;
  return `to get one back: ${restore(paths.slice(0, 1))}`;
};

const maxCommandLength = 120;
