import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Redactor } from '../../secrets/redact.ts';
import { git } from '../call/git.ts';
import { pathOf } from '../paths.ts';
import { findSecrets } from '../commit-filter.ts';
import { type OwnRecords, ownRecordsIn } from '../own-records.ts';
import { fingerprint, type WorkTree } from '../work-tree.ts';
import { isLarge, type NewPaths, trackedIn } from './find-skipped.ts';
import type { RefusedFile } from './refusals.ts';
import { coveredByAny, type SkippedPath, type SkipReason } from './skipped.ts';

/** The paths that are left out of trees, each for as long as its reason applies. */
export interface SkippedPaths {
  all(): readonly SkippedPath[];
  /** Always skipped, and never listed. */
  readonly own: OwnRecords;
  of(kind: SkipReason): readonly SkippedPath[];
  /** Returns a predicate for the current list: whether a path is skipped. */
  matcher(): (name: string) => boolean;
  add(paths: readonly SkippedPath[]): void;
  /** Adds files that git cannot add. */
  addRefused(files: readonly RefusedFile[]): void;
  /** Adds those of the new paths that look like secrets. */
  addSecrets(newPaths: NewPaths, redactor: Redactor): Promise<void>;
  /** Removes the paths whose reason no longer applies. `lastIndex` is the fingerprint of the index at the last tree. */
  removeOutdated(lastIndex: string | null): Promise<void>;
}

export const createSkippedPaths = (tree: WorkTree, known: readonly SkippedPath[]): SkippedPaths => {
  const paths = new Map(known.map((each) => [each.name, each]));
  /** What must change before git may accept a file that it has refused, by name. */
  const refused = new Map<string, string>();
  /** What must change before a file may no longer look like a secret, by name. */
  const secret = new Map<string, string>();
  const all = () => [...paths.values()];
  const of = (kind: SkipReason) => all().filter((each) => each.kind === kind);
  const own = ownRecordsIn(tree);
  const matcher = () => {
    const isListed = coveredByAny(all());
    return (name: string) => own.has(name) || isListed(name);
  };
  return {
    all,
    own,
    of,
    matcher,
    add: (found) => {
      for (const each of found) paths.set(each.name, each);
    },
    addRefused: (files) => {
      for (const { name, why } of files.filter((file) => !paths.has(file.name))) {
        paths.set(name, { name, kind: 'refused', why });
        refused.set(name, refusalFingerprint(tree, name));
      }
    },
    addSecrets: async ({ names, untracked }, redactor) => {
      const candidates = untracked ? [...names, ...(await changedSinceHead(tree))] : names;
      const isSkipped = matcher();
      const files = candidates.filter((name) => !name.endsWith('/') && !isSkipped(name));
      for (const { name, why } of await findSecrets(tree, files, redactor)) {
        paths.set(name, { name, kind: 'secret', why });
        secret.set(name, secretFingerprint(tree, name));
      }
    },
    removeOutdated: async (lastIndex) => {
      const large = of('large').map(({ name }) => name);
      const tracked =
        large.length === 0 || indexFingerprint(tree) === lastIndex ? new Set() : new Set(await trackedIn(tree));
      for (const name of large) if (tracked.has(name) || !isLarge(tree, name)) paths.delete(name);
      for (const [name, before] of refused) if (before !== refusalFingerprint(tree, name)) paths.delete(name);
      for (const [name, before] of secret) if (before !== secretFingerprint(tree, name)) paths.delete(name);
    },
  };
};

/** Changes if the user's index changes, or if the repository is created again. */
export const indexFingerprint = ({ index, gitDir }: WorkTree): string =>
  `${fingerprint(index)} ${statSync(gitDir, { throwIfNoEntry: false })?.ino}`;

/** Changes if the file or the settings that git reads for it change. */
const refusalFingerprint = ({ root, gitDir }: WorkTree, name: string): string =>
  [pathOf(root, name), join(root, '.gitattributes'), join(gitDir, 'config')].map(fingerprint).join(' ');

/** Changes if the file changes, or if HEAD may contain it. */
const secretFingerprint = (tree: WorkTree, name: string): string =>
  `${fingerprint(pathOf(tree.root, name))} ${indexFingerprint(tree)}`;

/**
 * Returns files whose index entry or contents differ from HEAD, possibly more; all tracked files if there is no HEAD.
 */
const changedSinceHead = async (tree: WorkTree): Promise<string[]> => {
  const { code, stdout } = await git(['diff-index', '--name-only', '-z', 'HEAD'], { cwd: tree.root });
  return code === 0 ? stdout.split('\0').filter(Boolean) : (await trackedIn(tree)).filter(Boolean);
};
