import { lstatSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { userError } from '../errors.ts';
import { userFolder } from '../files/home.ts';
import { createFolder } from '../files/folders.ts';
import { readSafely, replaceSafely } from '../files/safe.ts';
import { ownerOf, type Project } from '../store/project.ts';
import { acquireLock } from '../store/lock.ts';
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

/** A value that the user has trusted. */
export interface Trusted {
  readonly source: string;
  readonly hash: string;
  readonly since: string;
  /** What it ran, to show what has changed. */
  readonly commands: readonly string[];
}

interface TrustFile {
  readonly v: 1;
  /** By their real paths. */
  readonly projects: Readonly<Record<string, TrustedProject>>;
}

interface TrustedProject {
  /** null where files have no owner. */
  readonly owner: number | null;
  /** The newest last. */
  readonly trusted: readonly Trusted[];
}

/** How many values of one setting are remembered: whoever changes between branches is not asked each time. */
const mostOfOne = 10;

export type Env = NodeJS.ProcessEnv;

/** What the user has trusted in a project, the newest last. In a worktree of a run it is what holds in its project. */
export const readTrusted = (env: Env, project: Project): readonly Trusted[] => {
  const { root, owner } = identityOf(project);
  const found = readFile(env).projects[root];
  return found?.owner === owner ? found.trusted : [];
};

/** The user trusts these from now on, by saying so or by having written them. */
export const addTrust = (env: Env, project: Project, settings: readonly Setting[]): Promise<void> => {
  const since = new Date().toISOString();
  const added = settings.map(({ source, hash, commands }) => ({ source, hash, since, commands }));
  const isAdded = ({ source, hash }: Trusted) => added.some((one) => one.source === source && one.hash === hash);
  return change(env, project, (before) => {
    const all = [...before.filter((one) => !isAdded(one)), ...added];
    return all.filter((one, index) => newerOf(all, one, index) < mostOfOne);
  });
};

const newerOf = (all: readonly Trusted[], { source }: Trusted, index: number): number =>
  all.slice(index + 1).filter((one) => one.source === source).length;

/** Forgets all of it; says whether there was something. */
export const dropTrust = async (env: Env, project: Project): Promise<boolean> => {
  const had = readTrusted(env, project).length > 0;
  if (had) await change(env, project, () => []);
  return had;
};

const change = async (
  env: Env,
  project: Project,
  next: (before: readonly Trusted[]) => readonly Trusted[],
): Promise<void> => {
  const { root, owner } = identityOf(project);
  createFolder(userFolder(env));
  const lock = await waitForLock(`${fileOf(env)}.lock`);
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

/** Whoever puts another project in its place, or takes it over, is not trusted by that. */
const identityOf = (project: Project): { root: string; owner: number | null } => {
  const { root } = ownerOf(project);
  const owner = process.platform === 'win32' ? null : lstatSync(join(root, '.spool')).uid;
  return { root: realpathSync(root), owner };
};

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

/** Nobody needs longer to write a small file. */
const longestWaitMs = 10_000;

const waitForLock = async (path: string) => {
  for (const deadline = performance.now() + longestWaitMs; ; await delay(10)) {
    const locking = acquireLock(path, 'trust');
    if (locking.kind === 'held') return locking;
    if (performance.now() > deadline) throw userError('create-locked', locking.by.pid, locking.by.host, path);
  }
};
