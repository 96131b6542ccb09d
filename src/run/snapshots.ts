import { existsSync } from 'node:fs';
import type { FileDiff } from '../git/diff.ts';
import { createFolderWatch } from '../git/folder-watch.ts';
import { pathOf, toUtf8 } from '../git/git.ts';
import { openIgnoredBefore } from '../git/ignored-before.ts';
import { covers, type SkippedPath, parseSkipped, type SkipReason, stillSkipped, withTimes } from '../git/skipped.ts';
import { createNestedWatch, type NestedFiles } from '../git/nested.ts';
import { createTreeSnapshotter, type SnapshotterOptions } from '../git/trees.ts';
import { createHeadWatch, type WorkTree } from '../git/worktree.ts';
import { pluralise, oneLine, someOf } from '../text/format.ts';
import { createOwnOutput } from './own-output.ts';
import { ensureRunState, type RunContext } from './context.ts';

/** A work tree at one moment. */
export interface Snapshot {
  readonly id: string;
  readonly head: string | null;
  /** What is in the repositories inside of it. */
  readonly nested: NestedFiles;
}

export interface Snapshots {
  /** The work tree as it is now; null when git cannot tell. What it leaves out is named once, and kept with the run. */
  take(): Promise<Snapshot | null>;
  askHead(): Promise<string | null>;
  /** As TreeSnapshotter has it. */
  committed(): void;
  problem(): string | null;
  /** What differs inside of repositories inside; nothing of those that are among the changes themselves. */
  inside(snapshots: readonly [Snapshot, Snapshot], changes: readonly FileDiff[]): FileDiff[];
  /** Whether a file still exists but is excluded from snapshots. An earlier snapshot may have it, so it would look deleted. */
  isLeftOut(name: string): boolean;
  /** Less the secrets that were there before the run. */
  leftOut(): readonly SkippedPath[];
}

export type SnapshotContext = Pick<RunContext, 'project' | 'plan' | 'lock' | 'emit' | 'notes' | 'redactor' | 'folder'>;

/** `since` is the last tree of a run that was interrupted. */
export const createSnapshots = (
  context: SnapshotContext,
  tree: WorkTree,
  since: SnapshotterOptions['since'],
): Snapshots => {
  // What was too large, or what git refused, may not be so any more.
  let listed: readonly SkippedPath[] = parseSkipped(context.notes.read('skipped.json'));
  const before = stillSkipped(listed).filter(({ kind }) => kind === 'ignored' || kind === 'output');
  const ignored = openIgnoredBefore(tree, context.notes);
  const trees = createTreeSnapshotter(tree, {
    leftOut: before,
    ownOutput: createOwnOutput(),
    redactor: context.redactor,
    ignored,
    since: since ?? null,
  });
  const nested = createNestedWatch(tree.root);
  const folders = createFolderWatch(tree);
  const askHead = createHeadWatch(tree);
  const named = new Set(before.map(({ name }) => name));
  let written = '[]';
  /** Secrets that were there before the run are not what it has left uncommitted. */
  let own: ReadonlySet<string> | null = context.plan.firstIteration === 1 ? null : new Set();

  const isThere = (name: string) => existsSync(pathOf(tree.root, name));

  const tell = (treeId: string | null): void => {
    const list = trees.leftOut();
    if (treeId !== null) listed = withTimes(listed, list, { treeId, isThere });
    own ??= new Set(list.map(({ name }) => name));
    const text = JSON.stringify(listed);
    if (text === written) return;
    written = text;
    ensureRunState(context);
    context.notes.write('skipped.json', listed);
    const fresh = list.filter(({ name }) => !named.has(name));
    for (const { name } of fresh) named.add(name);
    const isCommitted = (name: string) => context.plan.commit && !own?.has(name);
    for (const text of sentences(fresh, isCommitted)) context.emit({ type: 'notice', text });
  };

  /** What is left out as a whole may be where somebody works now. */
  const tellNewInFolders = async (): Promise<void> => {
    const whole = trees.leftOut().filter(({ name }) => name.endsWith('/'));
    const names = await folders.look(whole.map(({ name }) => name));
    if (names.length === 0) return;
    const why = 'in a folder that was ignored before the ignore rules changed';
    context.emit({ type: 'notice', text: `Excluded from commits and checkpoints: ${namesOf(names)} (${why}).` });
  };

  return {
    async take() {
      const [id, head] = await Promise.all([trees.take(), askHead()]);
      tell(id);
      // Old rules are needed until what they ignored is on the list of what is left out.
      if (id !== null) await ignored.keep(() => ensureRunState(context));
      await tellNewInFolders();
      return id === null ? null : { id, head, nested: await nested.look(trees.nested()) };
    },
    askHead,
    committed: trees.committed,
    problem: trees.problem,
    inside: ([from, to], changes) => {
      const counted = new Set(changes.map(({ name }) => name));
      return nested.between(from.nested, to.nested).filter(({ name }) => !counted.has(name));
    },
    leftOut: () => trees.leftOut().filter(({ kind, name }) => kind !== 'secret' || !own?.has(name)),
    isLeftOut: (name) => isThere(name) && trees.leftOut().some((each) => covers(each, name)),
  };
};

const mostNamed = 10;

/** `isCommitted`: it would be, if it were not left out. */
const sentences = (fresh: readonly SkippedPath[], isCommitted: (name: string) => boolean): string[] => {
  const of = (kind: SkipReason) => fresh.filter((each) => each.kind === kind);
  const together = (['ignored', 'output'] as const).map(of).filter(({ length }) => length > 0);
  const refused = of('refused');
  const more =
    refused.length > mostNamed
      ? [`Skipped ${pluralise(refused.length - mostNamed, 'more file')}: git add failed.`]
      : [];
  return [
    ...together.map(
      (list) => `Excluded from commits and checkpoints: ${namesOf(list.map(({ name }) => name))} (${list[0]!.why}).`,
    ),
    ...of('secret').map(
      ({ name, why }) => `Not ${isCommitted(name) ? 'committed' : 'in checkpoints'}: ${nameOf(name)} (${why}).`,
    ),
    ...of('large').map(({ name, why }) => `Not in checkpoints: ${nameOf(name)} (${why}).`),
    ...refused.slice(0, mostNamed).map(({ name, why }) => `Skipped ${nameOf(name)}: git add failed: ${oneLine(why)}`),
    ...more,
  ];
};

const namesOf = (names: readonly string[]): string => someOf(names.map(toUtf8), names.length, mostNamed);

const nameOf = (name: string) => oneLine(toUtf8(name));
