import { existsSync } from 'node:fs';
import { stampOf } from '../../files/stamp.ts';
import { pathOf, statsAt, toUtf8 } from '../../git/paths.ts';
import {
  type SkippedPath,
  parseSkipped,
  type SkipReason,
  stillSkipped,
  withTimes,
} from '../../git/tree-snapshots/skipped.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { joinLines, pluralise, someOf } from '../../text/format.ts';
import { ensureRunState, type RunContext } from '../context.ts';

/** The paths that snapshots skip, saved with the run. Each is announced once. */
export interface SkippedList {
  /** Those that the run skipped before it was resumed, and still skips. */
  readonly before: readonly SkippedPath[];
  /** Saves and announces the paths that the last tree skips. `treeId` is null if git failed. */
  record(skipped: readonly SkippedPath[], treeId: string | null): void;
  /** Announces new files in folders that are skipped as a whole. */
  announceInFolders(names: readonly string[]): void;
  /** Returns false for a file from before the run that has not changed since. */
  hasChanged(path: SkippedPath): boolean;
}

type SkippedListContext = Pick<RunContext, 'project' | 'plan' | 'lock' | 'emit' | 'fileLists' | 'redactor' | 'folder'>;

export const openSkippedList = (context: SkippedListContext, tree: WorkTree): SkippedList => {
  const { plan, fileLists, emit, redactor } = context;
  let listed: readonly SkippedPath[] = parseSkipped(fileLists.read('skipped.json'));
  // A file that was too large, or that git refused, may be fine by now, so it is checked again.
  const before = stillSkipped(listed).filter(({ kind }) => kind === 'ignored' || kind === 'output');
  const announced = new Set(before.map(({ name }) => name));
  let written = '[]';
  /** The stamps of files from before the run, which are not its uncommitted work until they change. */
  let stampsAtStart: ReadonlyMap<string, string> | null = plan.firstIteration === 1 ? null : new Map();

  const announce = (skipped: readonly SkippedPath[]): void => {
    const fresh = skipped.filter(({ name }) => !announced.has(name));
    for (const { name } of fresh) announced.add(name);
    const isCommitted = (name: string) => plan.commit && !stampsAtStart?.has(name);
    for (const text of noticesFor(fresh, { isCommitted, redactor })) emit({ type: 'notice', text });
  };

  return {
    before,
    record: (skipped, treeId) => {
      if (treeId !== null) listed = withTimes(listed, skipped, { treeId, isThere: (name) => isThere(tree, name) });
      stampsAtStart ??= new Map(skipped.map(({ name }) => [name, stampAt(tree, name)]));
      const text = JSON.stringify(listed);
      if (text === written) return;
      written = text;
      ensureRunState(context);
      fileLists.write('skipped.json', listed);
      announce(skipped);
    },
    announceInFolders: (names) => {
      if (names.length === 0) return;
      const why = 'in a folder that was ignored before the ignore rules changed';
      emit({ type: 'notice', text: `Excluded from commits and checkpoints: ${namesOf(names)} (${why}).` });
    },
    hasChanged: ({ name }) => stampsAtStart?.get(name) !== stampAt(tree, name),
  };
};

export const isThere = ({ root }: WorkTree, name: string): boolean => existsSync(pathOf(root, name));

const stampAt = ({ root }: WorkTree, name: string): string => stampOf(statsAt(root, name));

const maxNames = 10;

interface NoticeOptions {
  /** Whether a path would be committed if it were not skipped. */
  readonly isCommitted: (name: string) => boolean;
  readonly redactor: Redactor;
}

const noticesFor = (fresh: readonly SkippedPath[], { isCommitted, redactor }: NoticeOptions): string[] => {
  const of = (kind: SkipReason) => fresh.filter((each) => each.kind === kind);
  const together = (['ignored', 'output'] as const).map(of).filter(({ length }) => length > 0);
  const refused = of('refused');
  const more =
    refused.length > maxNames ? [`Skipped ${pluralise(refused.length - maxNames, 'more file')}: git add failed.`] : [];
  return [
    ...together.map(
      (list) => `Excluded from commits and checkpoints: ${namesOf(list.map(({ name }) => name))} (${list[0]!.why}).`,
    ),
    ...of('secret').map(
      ({ name, why }) => `Not ${isCommitted(name) ? 'committed' : 'in checkpoints'}: ${nameOf(name)} (${why}).`,
    ),
    ...of('large').map(({ name, why }) => `Not in checkpoints: ${nameOf(name)} (${why}).`),
    ...refused
      .slice(0, maxNames)
      .map(({ name, why }) => `Skipped ${nameOf(name)}: git add failed: ${redactor.oneLine(why)}`),
    ...more,
  ];
};

const namesOf = (names: readonly string[]): string => someOf(names.map(toUtf8), names.length, maxNames);

const nameOf = (name: string) => joinLines(toUtf8(name));
