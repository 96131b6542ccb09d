import { userError } from '../../errors.ts';
import { toUtf8 } from '../../git/paths.ts';
import { diffTrees, type FileDiff } from '../../git/diff.ts';
import { diffFile } from '../../git/file-diff.ts';
import { commitsOf } from '../../store/checkpoint-range.ts';
import type { ComparedCheckpoints } from '../../store/saved-checkpoints.ts';
import { withoutControls } from '../../text/controls.ts';
import type { Redactor } from '../../secrets/redact.ts';
import type { DiffFile, DiffHunk, DiffLine, DiffSummary, FileDiffDetail } from '../api.ts';
import { notFound } from '../http/refusal.ts';
import { createCache } from './cache.ts';
import type { RunSource } from './run-source.ts';

export interface DiffRequest {
  readonly source: RunSource;
  /** Names of checkpoints; null for the beginning of the run, or its last checkpoint. */
  readonly from: string | null;
  readonly to: string | null;
  /** Compares one iteration with what was there before it, instead. */
  readonly iteration: string | null;
}

const maxFiles = 2000;

/** Compares checkpoints: which files differ, and the lines of one of them. */
export const createDiffs = (redactor: Redactor) => {
  const differences = createCache<Promise<readonly FileDiff[] | null>>();
  const open = async ({ source, from, to, iteration }: DiffRequest) => {
    const saved = await source.checkpoints();
    const commits = await commitsOf(saved, iteration ?? `${from ?? '0'}..${to ?? ''}`);
    return { saved, commits, files: await filesOf(saved, commits) };
  };
  const filesOf = async ({ tree }: ComparedCheckpoints, commits: readonly [string, string]) => {
    // Commits do not change.
    const key = `${tree.root} ${commits.join(' ')}`;
    const files = await differences.get(key, () => diffTrees(tree, commits, { renames: true }));
    if (files !== null) return files;
    differences.delete(key);
    throw userError('no-git', tree.root, 'git cannot compare the checkpoints');
  };
  return {
    summary: async (request: DiffRequest): Promise<DiffSummary> => {
      const { commits, files } = await open(request);
      const sum = (count: (file: FileDiff) => number) => files.reduce((total, file) => total + count(file), 0);
      return {
        from: request.from ?? commits[0],
        to: request.to ?? request.iteration ?? commits[1],
        filesChanged: files.length,
        insertions: sum(({ insertions }) => insertions),
        deletions: sum(({ deletions }) => deletions),
        files: files.slice(0, maxFiles).map(fileOf),
        filesLeftOut: Math.max(0, files.length - maxFiles),
      };
    },
    /** `path` is compared with the files that differ, and never opened. */
    file: async (request: DiffRequest, path: string): Promise<FileDiffDetail> => {
      const { saved, commits, files } = await open(request);
      const found = files.find(({ name }) => withoutControls(toUtf8(name)) === path);
      if (found === undefined) throw notFound('This file does not differ.');
      const diff = await diffFile(saved.tree, commits, found);
      if (diff === null) throw userError('no-git', saved.tree.root, 'git cannot compare the file');
      return { file: fileOf(found), ...diff, hunks: diff.hunks.map((hunk) => redactedHunk(redactor, hunk)) };
    },
  };
};

/** Lines are sent one by one, and a private key has many: each side of a hunk is redacted as a whole. */
const redactedHunk = (redactor: Redactor, hunk: DiffHunk): DiffHunk => {
  const texts = hunk.lines.map(({ text }) => withoutControls(text));
  const onSide = (other: DiffLine['kind']): ReadonlyMap<number, string> => {
    const own = texts.map((_, index) => index).filter((index) => hunk.lines[index]!.kind !== other);
    const clean = redactor.lines(own.map((index) => texts[index]!));
    return new Map(own.map((index, at) => [index, clean[at]!]));
  };
  const [before, after] = [onSide('added'), onSide('removed')];
  return {
    ...hunk,
    lines: hunk.lines.map((line, index) => {
      const sides = [before.get(index), after.get(index)];
      return { ...line, text: sides.find((text) => text !== undefined && text !== texts[index]) ?? texts[index]! };
    }),
  };
};

const fileOf = ({ status, name, from, insertions, deletions, binary, nested }: FileDiff): DiffFile => ({
  status,
  path: toUtf8(name),
  from: from === null ? null : toUtf8(from),
  insertions,
  deletions,
  binary: binary || nested,
});
