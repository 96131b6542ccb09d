import { readRegular } from '../files/own.ts';
import type { Redactor } from '../redact.ts';
import { git, pathOf, readable, statsOf } from './git.ts';
import { isNamedLikeSecret } from './secret-names.ts';
import type { WorkTree } from './worktree.ts';

/** A file that is not committed, and why. */
export interface Withheld {
  readonly name: string;
  readonly why: string;
}

const mostBytes = 5 * 1024 * 1024;

/** Which of these files are too large for a commit, or look like secrets. What is so in HEAD already is let through. */
export const findWithheld = async (
  tree: WorkTree,
  names: readonly string[],
  redactor: Redactor,
): Promise<Withheld[]> => {
  const found: Withheld[] = [];
  for (const name of names) {
    const why = await reasonAgainst(tree, name, redactor);
    if (why !== null) found.push({ name, why });
  }
  return found;
};

const reasonAgainst = async (tree: WorkTree, name: string, redactor: Redactor): Promise<string | null> => {
  const stats = statsOf(tree.root, name);
  if (!stats?.isFile()) return null;
  if (stats.size > mostBytes) return (await isLargeInHead(tree, name)) ? null : sizeText(stats.size);
  const text = readRegular(pathOf(tree.root, name))?.toString('latin1') ?? '';
  const byName = isNamedLikeSecret(readable(name), () => text);
  if (!byName && !hasSecret(text, redactor)) return null;
  const old = await git(['cat-file', 'blob', `HEAD:${readable(name)}`], { cwd: tree.root });
  const wasSecret = (before: string) =>
    byName ? isNamedLikeSecret(readable(name), () => before) : hasSecret(before, redactor);
  if (old.code === 0 && wasSecret(old.stdout)) return null;
  return byName ? 'its name says that it holds secrets' : 'it holds what looks like a key';
};

const isLargeInHead = async ({ root }: WorkTree, name: string): Promise<boolean> => {
  const { code, stdout } = await git(['cat-file', '-s', `HEAD:${readable(name)}`], { cwd: root });
  return code === 0 && Number(stdout) > mostBytes;
};

const sizeText = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB, more than 5 MB`;

const hasSecret = (text: string, redactor: Redactor): boolean => redactor.text(text) !== text;
