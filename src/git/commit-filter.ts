import { readlinkSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { readRegular } from '../files/regular.ts';
import type { Redactor } from '../secrets/redact.ts';
import { git } from './call/git.ts';
import { pathOf, toUtf8, statsOfName } from './paths.ts';
import { isNamedLikeSecret } from '../secrets/file-names.ts';
import type { WorkTree } from './work-tree.ts';

export interface ExcludedFile {
  readonly name: string;
  readonly why: string;
}

const maxBytes = 5 * 1024 * 1024;

/**
 * Returns the files that are too large for a commit or look like secrets, unless the same is true of their version in
 * HEAD.
 */
export const findExcluded = (tree: WorkTree, names: readonly string[], redactor: Redactor): Promise<ExcludedFile[]> =>
  find(names, async (name) => {
    const stats = statsOfName(tree.root, name);
    const why = await secretIn(tree, name, redactor);
    if (why !== null || !stats?.isFile() || stats.size <= maxBytes) return why;
    return (await isLargeInHead(tree, name)) ? null : sizeText(stats.size);
  });

/** Returns the files that look like secrets, unless the same is true of their version in HEAD. */
export const findSecrets = (tree: WorkTree, names: readonly string[], redactor: Redactor): Promise<ExcludedFile[]> =>
  find(names, (name) => secretIn(tree, name, redactor));

const find = async (
  names: readonly string[],
  reasonOf: (name: string) => Promise<string | null>,
): Promise<ExcludedFile[]> => {
  const found: ExcludedFile[] = [];
  for (const [index, name] of names.entries()) {
    // Files are read synchronously, so Ctrl-C is handled in between.
    if (index % 50 === 49) await setImmediate();
    const why = await reasonOf(name);
    if (why !== null) found.push({ name, why });
  }
  return found;
};

/** Returns the reason why a file or link looks like a secret; null if it does not, or does not exist. */
const secretIn = async (tree: WorkTree, name: string, redactor: Redactor): Promise<string | null> => {
  const stats = statsOfName(tree.root, name);
  if (!stats?.isFile() && !stats?.isSymbolicLink()) return null;
  if (isRedacted(toUtf8(name), redactor) && !(await isInHead(tree, name)))
    return 'its name contains what looks like a key';
  return stats.isFile() ? reasonAgainst(tree, name, redactor) : reasonAgainstLink(tree, name, redactor);
};

const isRedacted = (text: string, redactor: Redactor): boolean => redactor.text(text) !== text;

const isInHead = async ({ root }: WorkTree, name: string): Promise<boolean> =>
  (await git(['cat-file', '-e', `HEAD:${toUtf8(name)}`], { cwd: root })).code === 0;

/** git stores the target of a symbolic link like the contents of a file. */
const reasonAgainstLink = async ({ root }: WorkTree, name: string, redactor: Redactor): Promise<string | null> => {
  const target = targetOf(pathOf(root, name));
  if (!isRedacted(target, redactor)) return null;
  const old = await git(['cat-file', 'blob', `HEAD:${toUtf8(name)}`], { cwd: root });
  return old.code === 0 && toUtf8(old.stdout) === target ? null : 'it points to what looks like a key';
};

/** Returns an empty string if the link is gone. */
const targetOf = (path: Buffer): string => {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
};

const reasonAgainst = async (tree: WorkTree, name: string, redactor: Redactor): Promise<string | null> => {
  const bytes = contentsOf(tree, name);
  const byName = isNamedLikeSecret(toUtf8(name), () => textOf(bytes));
  if (!byName && !hasSecret(bytes, redactor)) return null;
  const old = await git(['cat-file', 'blob', `HEAD:${toUtf8(name)}`], { cwd: tree.root });
  const before = Buffer.from(old.stdout, 'latin1');
  const wasSecret = byName ? isNamedLikeSecret(toUtf8(name), () => textOf(before)) : hasSecret(before, redactor);
  if (old.code === 0 && wasSecret) return null;
  return byName ? 'its name suggests secrets' : 'it contains what looks like a key';
};

/** Returns an empty buffer if a file is too large or unreadable; then its name decides. */
const contentsOf = ({ root }: WorkTree, name: string): Buffer => {
  if ((statsOfName(root, name)?.size ?? 0) > maxBytes) return Buffer.alloc(0);
  try {
    return readRegular(pathOf(root, name)) ?? Buffer.alloc(0);
  } catch {
    return Buffer.alloc(0);
  }
};

const isLargeInHead = async ({ root }: WorkTree, name: string): Promise<boolean> => {
  const { code, stdout } = await git(['cat-file', '-s', `HEAD:${toUtf8(name)}`], { cwd: root });
  return code === 0 && Number(stdout) > maxBytes;
};

const sizeText = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB, more than 5 MB`;

/** Searches the text, and its decoded form if the whole file is base64. */
const hasSecret = (bytes: Buffer, redactor: Redactor): boolean => {
  const text = textOf(bytes);
  if (isRedacted(text, redactor)) return true;
  const inside = decodedBase64(text);
  return inside !== null && isRedacted(inside, redactor);
};

const textOf = (bytes: Buffer): string => {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return bytes.toString('utf16le', 2);
  if (first === 0xfe && second === 0xff)
    return Buffer.from(bytes.subarray(2, bytes.length & ~1))
      .swap16()
      .toString('utf16le');
  return bytes.toString('latin1');
};

/** Longer base64 is a picture or a program. */
const maxEncodedLength = 64 * 1024;

const decodedBase64 = (text: string): string | null =>
  text.length <= maxEncodedLength && /^[A-Za-z0-9+/_\r\n-]{24,}(?:={1,2}\s*)?$/.test(text)
    ? Buffer.from(text, 'base64').toString('latin1')
    : null;
