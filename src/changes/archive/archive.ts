import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { userError } from '../../errors.ts';
import { checkInside } from '../../files/inside.ts';
import { hideStateFromGit } from '../../store/folders.ts';
import { archiveLockFile } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import { waitForLock } from '../../store/wait-for-lock.ts';
import { applyJournal, dropJournal, type SpecWrite, writeJournal } from './journal.ts';
import { finishLocked } from './finish.ts';
import type { Change } from '../source.ts';
import { archivePathOf } from './folder.ts';
import { readSpecs } from '../spec-files.ts';
import type { MergeCounts } from '../specs/edit.ts';
import { mergeSpec } from '../specs/merge.ts';
import type { DeltaFile, Issue } from '../specs/validate.ts';
import { specIssues } from '../validate.ts';

export interface ArchivePlan {
  readonly change: Change;
  /** Where the change is moved to, relative to the root. */
  readonly to: string;
  /** Sorted by capability. */
  readonly merges: readonly CapabilityMerge[];
  readonly warnings: readonly Issue[];
}

export interface CapabilityMerge extends SpecWrite {
  readonly capability: string;
  readonly kind: 'written' | 'unchanged' | 'deleted';
  readonly counts: MergeCounts;
}

/** Merges the specs of a change in memory. Returns what is wrong with them if they cannot be merged. */
export const planArchive = (
  { root }: Project,
  change: Change,
  { mergeSpecs }: { readonly mergeSpecs: boolean },
): ArchivePlan | { readonly errors: readonly Issue[] } => {
  const to = archivePathOf(change);
  checkInside(root, change.folder);
  checkInside(root, to);
  if (existsSync(join(root, to))) throw userError('already-archived', to);
  if (!mergeSpecs) return { change, to, merges: [], warnings: [] };
  const specs = readSpecs(change, root);
  const issues = specIssues(change, specs);
  const errors = issues.filter(({ level }) => level === 'error');
  if (errors.length > 0) return { errors };
  const merged = specs.deltas.map((delta) => mergeDelta(change, delta, specs.settings.retire));
  const refused = merged.flatMap((each) => each.errors);
  if (refused.length > 0) return { errors: refused };
  return {
    change,
    to,
    merges: merged.flatMap((each) => (each.merge === null ? [] : [each.merge])),
    warnings: merged.flatMap((each) => each.warnings),
  };
};

interface MergedDelta {
  readonly merge: CapabilityMerge | null;
  readonly errors: readonly Issue[];
  readonly warnings: readonly Issue[];
}

const mergeDelta = ({ id }: Change, delta: DeltaFile, retire: boolean): MergedDelta => {
  const { capability, file, mainFile, main } = delta;
  const merge = mergeSpec({ capability, change: id, main, delta: delta.text, retire });
  if (merge.kind === 'refused')
    return {
      merge: null,
      warnings: [],
      errors: merge.refusals.map(({ file: which, line, message }) => ({
        level: 'error',
        file: which === 'main' ? mainFile : file,
        line,
        message,
      })),
    };
  const warnings = merge.warnings.map((warning): Issue => ({ level: 'warning', file, ...warning }));
  const after = merge.kind === 'written' ? merge.text : merge.kind === 'deleted' ? null : main;
  const counts = merge.kind === 'unchanged' ? { added: 0, modified: 0, removed: 0, renamed: 0 } : merge.counts;
  return {
    merge: { capability, kind: merge.kind, counts, path: mainFile, before: main, after },
    errors: [],
    warnings,
  };
};

/** Writes the main specs and moves the change: all of it, even if the process is killed on the way. */
export const applyArchive = (project: Project, env: NodeJS.ProcessEnv, { change, to, merges }: ArchivePlan): void => {
  const writes = merges
    .filter(({ kind }) => kind !== 'unchanged')
    .map(({ path, before, after }) => ({ path, before, after }));
  const journal = { v: 1, change: change.id, from: change.folder, to, writes } as const;
  writeJournal(project, env, journal);
  applyJournal(project, journal);
  dropJournal(project, env);
};

const lockTimeoutMs = 5000;

/** Runs `work` while no other process archives, after an interrupted `spool archive` was finished. */
export const whileArchiving = async <Result>(
  project: Project,
  { env, say }: { readonly env: NodeJS.ProcessEnv; readonly say: (line: string) => void },
  work: () => Result,
): Promise<Result> => {
  hideStateFromGit(project);
  const lock = await waitForLock(archiveLockFile(project), 'archive', lockTimeoutMs);
  try {
    const finished = await finishLocked(project, env);
    if (finished !== null) say(finished);
    return work();
  } finally {
    lock.release();
  }
};
