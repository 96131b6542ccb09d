import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { realPath } from '../../process/which.ts';
import { expandPath } from './expand-path.ts';
import { git, type GitArguments } from './git.ts';
import { toUtf8 } from '../paths.ts';

export interface Setting {
  readonly file: string;
  /** The file as git prints it. */
  readonly named: string;
  readonly key: string;
  readonly value: string;
}

/** Settings that git uses for a work tree, or may use later without a change to the files that it reads now. */
export interface PossibleSettings {
  /** Every file that git reads, or would read if it existed or the condition of its include were true. */
  readonly files: readonly string[];
  readonly settings: readonly Setting[];
}

/** Rejects if there are too many includes: the files that were not read would be unknown. */
export const possibleSettings = async (root: string): Promise<PossibleSettings> => {
  const settings = await listSettings(root, ['config', '--list', '--show-origin', '-z']);
  const files = new Set(settings.map(({ file }) => file));
  // Active includes are already in the list, with their own includes.
  const waiting = includesIn(settings).filter((file) => !files.has(file));
  for (let reads = 0; waiting.length > 0;) {
    const file = waiting.pop()!;
    if (files.has(file)) continue;
    files.add(file);
    if (!isRegular(file)) continue;
    if (++reads > maxReads) throw new Error(`the settings of git include more than ${maxReads} files`);
    const more = await listSettings(root, ['config', '--file', file, '--list', '--show-origin', '-z']);
    settings.push(...more);
    waiting.push(...includesIn(more));
  }
  return { files: [...files], settings };
};

/** The maximum number of inactive includes that are read. */
const maxReads = 100;

const listSettings = async (root: string, args: GitArguments): Promise<Setting[]> =>
  parseSettings(root, (await git(args, { cwd: root })).stdout);

/** Parses the output of `git config --list --show-origin -z`. Returns the settings that come from files. */
export const parseSettings = (root: string, stdout: string): Setting[] => {
  const fields = toUtf8(stdout).split('\0');
  const settings: Setting[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const named = /^file:(.*)$/s.exec(fields[at]!)?.[1];
    if (named === undefined) continue;
    const [key = '', ...lines] = fields[at + 1]!.split('\n');
    settings.push({ file: resolve(root, named), named, key, value: lines.join('\n') });
  }
  return settings;
};

/**
 * Returns the files that these settings include, under any condition, existing or not. If a parent folder is a link,
 * `..` can resolve in two ways; both are returned.
 */
export const includesIn = (settings: readonly Setting[]): string[] =>
  settings
    .filter(({ key, value }) => /^include(?:if\..*)?\.path$/.test(key) && value !== '')
    .flatMap(({ file, value }) => [dirname(file), realPath(dirname(file))].map((folder) => expandPath(value, folder)));

/** git would block on a pipe. */
const isRegular = (file: string): boolean => {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
};
