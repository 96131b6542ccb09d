import { lstatSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { userError } from '../errors.ts';
import { userFolder } from '../files/home.ts';
import { createFolder } from '../files/folders.ts';
import { readSafely, replaceSafely } from '../files/safe.ts';
import { ownerOf, type Project } from '../store/project.ts';
import { waitForLock } from '../store/wait-for-lock.ts';
import {
  count,
  listOf,
  mapOf,
  matching,
  isoTime,
  object,
  oneOf,
  orNull,
  parseJson,
  required,
  type Shape,
  text,
  validItems,
  withFallback,
} from '../text/shape.ts';
import type { Setting } from './settings.ts';

/** A trusted value of a setting. */
export interface Trusted {
  readonly source: string;
  readonly hash: string;
  readonly since: string;
  /** The commands, to show what has changed. */
  readonly commands: readonly string[];
}

interface TrustFile {
  readonly v: 1;
  /** By real path. */
  readonly projects: Readonly<Record<string, TrustedProject>>;
}

interface TrustedProject {
  /** The user id; null if files have no owner. */
  readonly owner: number | null;
  /** Newest last. */
  readonly trusted: readonly Trusted[];
}

/** The maximum number of values stored per setting, so that switching branches does not ask for trust each time. */
const maxPerSetting = 10;

export type Env = NodeJS.ProcessEnv;

/**
 * Returns what the user trusts in a project, newest last. In a worktree of a run, it is what the user trusts in its
 * project.
 */
export const readTrusted = (env: Env, project: Project): readonly Trusted[] => {
  const { root, owner } = identityOf(project);
  const found = readFile(env).projects[root];
  return found?.owner === owner ? found.trusted : [];
};

/** Trusts settings that the user has confirmed or written. */
export const addTrust = (env: Env, project: Project, settings: readonly Setting[]): Promise<void> => {
  const since = new Date().toISOString();
  const added = settings.map(({ source, hash, commands }) => ({ source, hash, since, commands }));
  const isAdded = ({ source, hash }: Trusted) => added.some((one) => one.source === source && one.hash === hash);
  return update(env, project, (before) => {
    const all = [...before.filter((one) => !isAdded(one)), ...added];
    return all.filter((one, index) => countNewer(all, one, index) < maxPerSetting);
  });
};

const countNewer = (all: readonly Trusted[], { source }: Trusted, index: number): number =>
  all.slice(index + 1).filter((one) => one.source === source).length;

/** Removes all trust. Returns true if there was any. */
export const dropTrust = async (env: Env, project: Project): Promise<boolean> => {
  const had = readTrusted(env, project).length > 0;
  if (had) await update(env, project, () => []);
  return had;
};

const update = async (
  env: Env,
  project: Project,
  next: (before: readonly Trusted[]) => readonly Trusted[],
): Promise<void> => {
  const { root, owner } = identityOf(project);
  createFolder(userFolder(env));
  const lock = await waitForLock(`${fileOf(env)}.lock`, 'trust', lockTimeoutMs);
  try {
    const file = readFile(env);
    const { [root]: _, ...others } = file.projects;
    const trusted = next(readTrusted(env, project));
    const projects = trusted.length === 0 ? others : { ...others, [root]: { owner, trusted } };
    replaceSafely(fileOf(env), `${JSON.stringify({ v: 1, projects }, null, 2)}\n`);
  } finally {
    lock.release();
  }
};

const fileOf = (env: Env) => join(userFolder(env), 'trust.json');

/** Another project at the same path, or another owner, is not trusted. */
const identityOf = (project: Project): { root: string; owner: number | null } => {
  const { root } = ownerOf(project);
  const owner = process.platform === 'win32' ? null : ownerOfFolder(root);
  return { root: realpathSync(root), owner };
};

/** A project that is about to be created belongs to the user. */
const ownerOfFolder = (root: string): number | null =>
  lstatSync(join(root, '.spool'), { throwIfNoEntry: false })?.uid ?? process.getuid?.() ?? null;

const readFile = (env: Env): TrustFile => {
  const saved = readSafely(fileOf(env));
  if (saved === null) return { v: 1, projects: {} };
  const file = trustFile(parseJson(saved.toString('utf8')));
  if (file === undefined) throw userError('bad-state', fileOf(env), 'is not a list of trusted projects');
  return file;
};

const trusted: Shape<Trusted> = object<Trusted>({
  source: required(text),
  hash: required(matching(/^sha256:[\da-f]{64}$/)),
  since: required(isoTime),
  commands: withFallback([], listOf(text)),
});

const trustFile: Shape<TrustFile> = object<TrustFile>({
  v: required(oneOf([1])),
  projects: required(
    mapOf(object<TrustedProject>({ owner: required(orNull(count)), trusted: required(validItems(trusted)) })),
  ),
});

/** Writing a small file never takes longer. */
const lockTimeoutMs = 10_000;
