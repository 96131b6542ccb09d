import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { blobAt, dirtyPaths, stagedAmong, topOf } from '../../git/branches.ts';
import { readable } from '../../git/git.ts';
import { baseOf, bytesOf, filesAmong, keptWork, mergeCopies } from '../../project/copies.ts';
import { worktreePath } from '../../project/find.ts';
import { planned } from '../../project/planned.ts';
import type { Landing } from './landing.ts';

/** What becomes of the project's own copy of the change when the branch lands in its folder. */
export interface Edits {
  /** Changed and not committed there, and changed by the branch too; from the root of the repository. */
  readonly modified: readonly string[];
  /** What files should be that a commit alone does not bring home, by their paths in the project. */
  readonly merged: ReadonlyMap<string, Buffer>;
}

/** A person may have edited the change, and a run may have ticked tasks, without a commit. Both are merged with the branch. */
export const planEdits = async (landing: Landing, holder: string, commit: string): Promise<Edits> => {
  const { project, change, prefix } = landing;
  if (holder !== (await topOf(project.root))) return { modified: [], merged: new Map() };
  const plans = await planned(project, change);
  const work = await workRoot(landing);
  const dirty = new Set(((await dirtyPaths(holder)) ?? []).map(readable));
  const paths = new Set([...filesAmong(project.root, plans), ...(work === null ? [] : filesAmong(work, plans))]);
  const modified: string[] = [];
  const merged = new Map<string, Buffer>();
  for (const path of paths) {
    const name = `${prefix}${path}`;
    const mine = bytesOf(join(project.root, path));
    const before = await blobAt(holder, landing.baseTip, name);
    const after = await blobAt(holder, commit, name);
    const isEdited = mine !== null && after !== null && (before === null || dirty.has(name));
    const base = before ?? baseOf(project, change, path);
    const own = isEdited ? await mergeCopies(path, { base, mine, theirs: after }) : null;
    if (own?.kind === 'conflict') continue;
    if (own !== null && before !== null && !before.equals(after!)) modified.push(name);
    const landed = own === null ? (after ?? mine) : own.bytes;
    const final = await withLooseWork(landing, path, { landed, work });
    if (final !== null && !final.equals(after ?? mine ?? Buffer.alloc(0))) merged.set(path, final);
  }
  const staged = modified.length > 0 ? await stagedAmong(holder, modified) : new Set<string>();
  return { modified: modified.filter((name) => !staged.has(name)), merged };
};

/** What the copy of the run has and its branch has not, such as ticks in a file that git ignores. */
const withLooseWork = async (
  { project, change, prefix, tip }: Landing,
  path: string,
  { landed, work }: { landed: Buffer | null; work: string | null },
): Promise<Buffer | null> => {
  const theirs = work === null ? null : bytesOf(join(work, path));
  const onBranch = await blobAt(project.root, tip, `${prefix}${path}`);
  if (theirs === null || onBranch?.equals(theirs)) return landed;
  const base = onBranch ?? baseOf(project, change, path);
  const all = await mergeCopies(path, { base, mine: landed, theirs });
  return all.kind === 'conflict' ? landed : all.bytes;
};

/** Where the copy of the run is: in its worktree, or kept since that is gone. */
const workRoot = async ({ project, change, tip, prefix, hasWorktree }: Landing): Promise<string | null> =>
  hasWorktree ? join(worktreePath(project, change), prefix) : keptWork(project, change, tip);

export const writeEdits = ({ project }: Landing, { merged }: Edits): void => {
  for (const [path, bytes] of merged) {
    const file = join(project.root, path);
    mkdirSync(dirname(file), { recursive: true });
    rmSync(file, { force: true });
    writeFileSync(file, bytes);
  }
};
