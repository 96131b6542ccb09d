import { sha256 } from '@noble/hashes/sha2.js';
import { closeSync, existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { createFolder, entriesOf, openOwn, readOwn, replaceOwn, writeAll } from '../files/own.ts';
import { userFolder } from '../files/home.ts';
import { realPath } from '../process/which.ts';
import type { RunView } from '../ralph/view.ts';
import type { Project } from './project.ts';
import { parseJson } from '../text/shape.ts';

/*
 * What Spool knows of the runs of a change, kept in the folder of the user: an agent can write into the project, and a
 * clone brings what somebody else wrote there. Whatever decides something is compared with this before it is believed.
 */

/** Where it is kept. Made of the real path of the project, so that every project has its own. */
export const recordFolder = (project: Project, change: string, env: NodeJS.ProcessEnv): string => {
  if (!names.has(project)) names.set(project, nameOf(project));
  return join(userFolder(env), 'projects', names.get(project)!, change);
};

const names = new WeakMap<Project, string>();

const nameOf = (project: Project): string => {
  const root = realPath(project.root);
  const id = Buffer.from(sha256(Buffer.from(root)))
    .toString('hex')
    .slice(0, 16);
  return `${shortened(basename(root))}-${id}`;
};

/** File systems take names of 255 bytes. */
const longestName = 200;

const shortened = (name: string): string =>
  Buffer.byteLength(name) <= longestName ? name : name.slice(0, longestName / 4);

/** What was asked for when a run was started, and where it works: none of it changes while it runs. */
const settled = [
  'run',
  'change',
  'agents',
  'sandbox',
  'completionPromise',
  'blockedPromise',
  'minIterations',
  'maxIterations',
  'limits',
  'gate',
  'place',
  'failFast',
  'commit',
  'settings',
] as const satisfies readonly (keyof RunView)[];

type Settled = Pick<RunView, (typeof settled)[number]>;

/** One start of a run. */
interface Version extends Settled {
  /** The same as state.json has it, where that is without the secrets in it. */
  readonly written?: Settled;
}

const settledOf = (view: RunView): Settled =>
  Object.fromEntries(settled.map((name) => [name, view[name]])) as unknown as Settled;

const runFile = (folder: string, run: string) => join(folder, 'runs', `${run}.json`);

/**
 * Called before a run is written to state.json as started or resumed. The version before is kept as well: whoever is
 * killed in between has state.json as it was. `written` is what goes there; the record has the run as it was asked for,
 * as it is resumed from it.
 */
export const recordRun = (folder: string, view: RunView, written: RunView): void => {
  createFolder(join(folder, 'runs'));
  const [asked, shown] = [settledOf(view), settledOf(written)];
  const version: Version = isDeepStrictEqual(asked, shown) ? asked : { ...asked, written: shown };
  const versions = [version, ...knownVersions(folder, view.run).slice(0, 1)];
  replaceOwn(runFile(folder, view.run), `${JSON.stringify(versions, null, 2)}\n`);
};

const knownVersions = (folder: string, run: string): Version[] => {
  const versions = parseJson(readOwn(runFile(folder, run))?.toString('utf8') ?? '');
  return Array.isArray(versions) ? (versions as Version[]) : [];
};

const endsFile = (folder: string) => join(folder, 'ends');
const endOf = ({ run, status }: RunView) => `${run} ${status}`;

/** Called before a run is written to state.json as ended. */
export const recordEnd = (folder: string, view: RunView): void => append(endsFile(folder), `${endOf(view)}\n`);

/** Whether a run was started here. */
export const isKnown = (folder: string, { run }: Pick<RunView, 'run'>): boolean =>
  knownVersions(folder, run).length > 0;

/** Where a run that was started here works; null for any other. */
export const recordedPlace = (folder: string, run: string): string | null =>
  knownVersions(folder, run)[0]?.place?.root ?? null;

/** A run as it ended: one that was started here has ended only when Spool has recorded that, whatever state.json says. */
export const asRecorded = (folder: string, view: RunView): RunView => {
  const { status } = view;
  if (status === 'running' || status === 'interrupted' || !isKnown(folder, view)) return view;
  return linesIn(endsFile(folder)).includes(endOf(view)) ? view : { ...view, status: 'interrupted', cause: null };
};

export type Recognised =
  | 'same'
  /** Nothing is known of it here: another user, machine or container has written it. */
  | 'unknown'
  /** What it says is not what was asked for: the names of what differs. */
  | readonly string[];

/** Whether a run is the one that was started here. */
export const recognise = (folder: string, view: RunView): Recognised => {
  const versions = knownVersions(folder, view.run);
  if (versions.length === 0) return 'unknown';
  const different = versions.map((known) => differences(known, view));
  return different.some((names) => names.length === 0) ? 'same' : different[0]!;
};

const differences = (known: Version, view: RunView): string[] => {
  const now = asSaved(view);
  return settled.filter((name) => !isSame(known.written ?? known, now, name));
};

/** As it is read back. */
const asSaved = (view: RunView) => JSON.parse(JSON.stringify(settledOf(view))) as Settled;

const isSame = (then: Settled, now: Settled, name: keyof Settled): boolean =>
  isDeepStrictEqual(then[name] ?? null, now[name] ?? null);

/** Whether two views are of one run that was started once. */
export const isSameStart = (one: RunView, other: RunView): boolean => isDeepStrictEqual(asSaved(one), asSaved(other));

/** A run as it was asked for, with the secrets that state.json does not have, as far as they are known here. */
export const asAskedFor = (folder: string, view: RunView): RunView => {
  const redacted = knownVersions(folder, view.run).filter(({ written }) => written !== undefined);
  if (redacted.length === 0) return view;
  const now = asSaved(view);
  const known = settled.flatMap((name) => {
    const version = redacted.find(({ written }) => isSame(written!, now, name));
    return version ? [[name, version[name]]] : [];
  });
  return { ...view, ...(Object.fromEntries(known) as Partial<Settled>) };
};

/** What writes down the checkpoints of a change. */
export const checkpointRecorder =
  (project: Project, change: string, env: NodeJS.ProcessEnv) =>
  (checkpoint: NamedCommit): void =>
    recordCheckpoint(recordFolder(project, change, env), checkpoint);

const checkpointFile = (folder: string) => join(folder, 'checkpoints');

/** Called with every checkpoint: a ref can be moved by whoever can write into the repository. */
const recordCheckpoint = (folder: string, { run, name, commit }: NamedCommit): void =>
  append(checkpointFile(folder), `${run} ${name} ${commit}\n`);

const append = (path: string, line: string): void => {
  createFolder(dirname(path));
  const file = openOwn(path, 'append');
  try {
    writeAll(file, line);
  } finally {
    closeSync(file);
  }
};

const linesIn = (path: string): string[] => readOwn(path, Infinity)?.toString('utf8').split('\n').filter(Boolean) ?? [];

interface NamedCommit {
  readonly run: string;
  readonly name: string;
  readonly commit: string;
}

/** Whether a checkpoint is one that was kept here; unknown where nothing of its run was. */
export const recogniseCheckpoint = (
  folder: string,
  { run, name, commit }: NamedCommit,
): 'same' | 'unknown' | 'changed' => {
  const lines = linesIn(checkpointFile(folder));
  if (lines.includes(`${run} ${name} ${commit}`)) return 'same';
  return isKnown(folder, { run }) || lines.some((line) => line.startsWith(`${run} `)) ? 'changed' : 'unknown';
};

/** Whether other changes of the same project were run here. */
export const hasOtherRuns = (folder: string): boolean =>
  entriesOf(dirname(folder)).some(
    ({ name }) => name !== basename(folder) && existsSync(join(dirname(folder), name, 'runs')),
  );

/** The context as persons have left it. */
export const contextRecord = (folder: string): string => join(folder, 'context.txt');
