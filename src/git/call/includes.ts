import { statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { realPath } from '../../process/which.ts';
import { git, type GitArguments, toUtf8 } from './git.ts';

/** One setting of git. */
export interface Setting {
  readonly file: string;
  /** The file as git names it. */
  readonly named: string;
  readonly key: string;
  readonly value: string;
}

/** Settings that git has for a work tree, or can come to have without a change of the files that it reads now. */
export interface PossibleSettings {
  /** Every file that git reads, or would read if it were there or the condition of its include held. */
  readonly files: readonly string[];
  readonly settings: readonly Setting[];
}

/** Rejects when files include each other without end: nothing could be said of those that were not read. */
export const possibleSettings = async (root: string): Promise<PossibleSettings> => {
  const settings = await listSettings(root, ['config', '--list', '--show-origin', '-z']);
  const files = new Set(settings.map(({ file }) => file));
  // What is active is in the list already, with what it includes.
  const waiting = includesIn(settings).filter((file) => !files.has(file));
  for (let reads = 0; waiting.length > 0;) {
    const file = waiting.pop()!;
    if (files.has(file)) continue;
    files.add(file);
    if (!isRegular(file)) continue;
    if (++reads > mostReads) throw new Error(`the settings of git include more than ${mostReads} files`);
    const more = await listSettings(root, ['config', '--file', file, '--list', '--show-origin', '-z']);
    settings.push(...more);
    waiting.push(...includesIn(more));
  }
  return { files: [...files], settings };
};

/** How many files whose conditions do not hold are read. */
const mostReads = 100;

const listSettings = async (root: string, args: GitArguments): Promise<Setting[]> =>
  parseSettings(root, (await git(args, { cwd: root })).stdout);

/** Of what `git config --list --show-origin -z` printed, the settings that are in files. */
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
 * The files that these settings include, whatever the condition, and whether they are there or not. Where a folder on
 * the way is a link, `..` leads elsewhere than its name says: both are meant.
 */
export const includesIn = (settings: readonly Setting[]): string[] =>
  settings
    .filter(({ key, value }) => /^include(?:if\..*)?\.path$/.test(key) && value !== '')
    .flatMap(({ file, value }) => [dirname(file), realPath(dirname(file))].map((folder) => expandPath(value, folder)));

/** A path in a setting, as git reads it: `~` is a home folder, and what is relative begins in `folder`. */
export const expandPath = (path: string, folder: string): string => {
  const [, user, rest = ''] = /^~([^/]*)(?:\/(.*))?$/s.exec(path) ?? [];
  if (user === undefined) return resolve(folder, path);
  return join(user === '' ? homedir() : (homeOf(user) ?? join(folder, `~${user}`)), rest);
};

/** Only our own is known, and not even that where the system has no name for us. */
const homeOf = (user: string): string | null => {
  try {
    const { username, homedir: home } = userInfo();
    return username === user ? home : null;
  } catch {
    return null;
  }
};

/** git would wait for a pipe. */
const isRegular = (file: string): boolean => {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
};
