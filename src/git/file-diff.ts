import { git } from './call/git.ts';
import { toUtf8 } from './paths.ts';
import type { FileDiff } from './diff.ts';
import { type CommitStore, inStore } from './commit-store.ts';

/** A line of a difference. */
interface HunkLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
  readonly noNewline?: true;
}

interface Hunk {
  readonly oldStart: number;
  readonly newStart: number;
  /** What git found above it, such as the name of a function. */
  readonly heading: string;
  readonly lines: readonly HunkLine[];
}

export interface FileHunks {
  readonly hunks: readonly Hunk[];
  /** The end is missing: the difference is too long. */
  readonly isCut: boolean;
}

/** Larger files are not compared, and more lines are not returned. */
const maxFile = 4 * 1024 * 1024;
const maxLines = 20_000;
const maxText = 1024 * 1024;

/** Returns the hunks of one file that differs between two commits; null if git fails. */
export const diffFile = async (
  store: CommitStore,
  [before, after]: readonly [string, string],
  file: FileDiff,
): Promise<FileHunks | null> => {
  if (file.binary || file.nested) return { hunks: [], isCut: false };
  const sizes = await Promise.all([file.before, file.after].map((entry) => sizeOf(store, entry)));
  if (sizes.some((size) => size > maxFile)) return { hunks: [], isCut: true };
  const names = [...new Set([file.from ?? file.name, file.name])].map((name) => `:(top,literal)${toUtf8(name)}`);
  const flags = ['-r', '-p', '--find-renames', '--no-color', '--unified=3', '--src-prefix=a/', '--dst-prefix=b/'];
  const { code, stdout } = await git(['diff-tree', ...flags, before, after, '--', ...names], inStore(store));
  return code === 0 ? parseHunks(stdout) : null;
};

/** The size of an entry such as `100644 <id>`; 0 if there is none. */
const sizeOf = async (store: CommitStore, entry: string): Promise<number> => {
  const id = entry.split(' ')[1] ?? '';
  if (/^0*$/.test(id)) return 0;
  const { code, stdout } = await git(['cat-file', '-s', id], inStore(store));
  return code === 0 ? Number(stdout.trim()) : 0;
};

const hunkStart = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;

/** Parses the hunks in what git prints for one file. `output` is Latin-1, as git printed it. */
const parseHunks = (output: string): FileHunks => {
  const hunks: { -readonly [Name in keyof Hunk]: Name extends 'lines' ? HunkLine[] : Hunk[Name] }[] = [];
  let [count, length] = [0, 0];
  for (const line of output.split('\n')) {
    const start = hunkStart.exec(line);
    if (start !== null) {
      const heading = toUtf8(start[3] ?? '');
      hunks.push({ oldStart: Number(start[1]), newStart: Number(start[2]), heading, lines: [] });
      continue;
    }
    const lines = hunks.at(-1)?.lines;
    if (lines === undefined) continue;
    if (line.startsWith('\\')) {
      const last = lines.pop();
      if (last !== undefined) lines.push({ ...last, noNewline: true });
      continue;
    }
    const kind = kinds[line[0] ?? ''];
    if (kind === undefined) continue;
    count++;
    length += line.length;
    if (count > maxLines || length > maxText) return { hunks, isCut: true };
    lines.push({ kind, text: toUtf8(line.slice(1)) });
  }
  return { hunks, isCut: false };
};

const kinds: Readonly<Record<string, HunkLine['kind']>> = { ' ': 'same', '+': 'added', '-': 'removed' };
