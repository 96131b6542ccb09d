import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { git, type GitArguments } from './call/git.ts';

interface Versions {
  readonly base: Buffer;
  readonly mine: Buffer;
  readonly theirs: Buffer;
}

/**
 * Merges two versions of a text. Returns null if both changed the same lines, or if it is binary. With `additions`,
 * lines that both added at the same position are all included, those of `mine` first.
 */
export const mergeFiles = async (versions: Versions, { additions = false } = {}): Promise<Buffer | null> => {
  const folder = mkdtempSync(join(tmpdir(), 'spool-merge-'));
  try {
    for (const [name, bytes] of Object.entries(versions)) writeFileSync(join(folder, name), bytes as Buffer);
    const args: GitArguments = [
      'merge-file',
      '--stdout',
      '--diff3',
      `--marker-size=${markerSize}`,
      'mine',
      'base',
      'theirs',
    ];
    const { code, stdout } = await git(args, { cwd: folder });
    // The exit code is the number of conflicts; from 128 on, an error.
    if (code < 0 || code >= 128) return null;
    const merged = code === 0 ? stdout : additions ? withAdditions(stdout) : null;
    return merged === null ? null : Buffer.from(merged, 'latin1');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Long enough not to occur in a text. */
const markerSize = 47;

const markers = {
  mine: '<'.repeat(markerSize),
  base: '|'.repeat(markerSize),
  theirs: '='.repeat(markerSize),
  end: '>'.repeat(markerSize),
};

/** Returns null if a conflict affects lines of the base. */
const withAdditions = (text: string): string | null => {
  const merged: string[] = [];
  let own = new Set<string>();
  let part: keyof typeof markers = 'end';
  for (const line of text.split(/(?<=\n)/)) {
    const next = parts.find((name) => line.startsWith(markers[name]));
    if (next === 'mine') own = new Set();
    if (next !== undefined) part = next;
    else if (part === 'base') return null;
    else if (part !== 'theirs' || !own.has(line)) merged.push(line);
    if (next === undefined && part === 'mine') own.add(line);
  }
  return merged.join('');
};

const parts = ['mine', 'base', 'theirs', 'end'] as const;
