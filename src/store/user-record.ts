import { sha256 } from '@noble/hashes/sha2.js';
import { closeSync, existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { createFolder, entriesOf } from '../files/folders.ts';
import { openSafely, readSafely, replaceSafely, writeAll } from '../files/safe.ts';
import { userFolder } from '../files/home.ts';
import type { Repository } from '../git/work-tree.ts';
import { realPath } from '../process/which.ts';
import type { RunView } from '../ralph/view.ts';
import type { Project } from './project.ts';
import { object, orNull, parseJson, required, type Shape, text } from '../text/shape.ts';
import { upgradeIdentity } from './upgrade.ts';
import {
  recordedRunsFolder,
  recordedRunFile,
  stepsFile,
  tipsFile,
  basesFile,
  checkpointsFile,
  repositoryFile,
} from './paths.ts';

/*
 * What Spool knows about the runs of a change, in the user's state folder. An agent can write to the project, and a clone
 * brings what others wrote there, so everything that decides something is compared with this record first.
 */

/** Named after the real path of the project, so that every project has its own. */
export const userRecordFolder = (project: Project, change: string, env: NodeJS.ProcessEnv): string =>
  join(userFolder(env), 'projects', nameOf(project), change);

const nameOf = (project: Project): string => {
  const root = realPath(project.root);
  const id = Buffer.from(sha256(Buffer.from(root)))
    .toString('hex')
    .slice(0, 16);
  return `${shortened(basename(root))}-${id}`;
};

/** In bytes. File systems allow 255. */
const longestName = 200;

const shortened = (name: string): string =>
  Buffer.byteLength(name) <= longestName ? name : name.slice(0, longestName / 4);

/** What a run was started with, and where it works. None of it changes while it runs. */
const identityFields = [
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
  'workspace',
  'failFast',
  'commit',
  'settings',
] as const satisfies readonly (keyof RunView)[];

type RunIdentity = Pick<RunView, (typeof identityFields)[number]>;

/** One start of a run. */
interface Version extends RunIdentity {
  /** The same as in state.json, if secrets were masked there. */
  readonly written?: RunIdentity;
}

const identityOf = (view: RunView): RunIdentity =>
  Object.fromEntries(identityFields.map((name) => [name, view[name]])) as unknown as RunIdentity;

/**
 * Called before a run is written to state.json as started or resumed. Keeps the previous version, which state.json has if
 * Spool is killed in between. `written` is what goes into state.json; the record has the secrets, as a resume needs them.
 */
export const recordRun = (folder: string, view: RunView, written: RunView): void => {
  createFolder(recordedRunsFolder(folder));
  const [asked, shown] = [identityOf(view), identityOf(written)];
  const version: Version = isDeepStrictEqual(asked, shown) ? asked : { ...asked, written: shown };
  const versions = [version, ...knownVersions(folder, view.run).slice(0, 1)];
  writeVersions(folder, view.run, versions);
  append(stepsFile(folder), `${view.run} starting\n`);
};

/** Called when state.json has the run as recorded. From now on it must have this run, in this version. */
export const confirmRun = (folder: string, { run }: RunView): void => {
  writeVersions(folder, run, knownVersions(folder, run).slice(0, 1));
  append(stepsFile(folder), `${run} running\n`);
};

const writeVersions = (folder: string, run: string, versions: readonly Version[]): void =>
  replaceSafely(recordedRunFile(folder, run), `${JSON.stringify(versions, null, 2)}\n`);

const knownVersions = (folder: string, run: string): Version[] => {
  const versions = parseJson(readSafely(recordedRunFile(folder, run))?.toString('utf8') ?? '');
  return Array.isArray(versions) ? (versions as Version[]).map(upgradeIdentity) : [];
};

/** Called before a run is written to state.json as ended. */
export const recordEnd = (folder: string, { run, status }: RunView): void =>
  append(stepsFile(folder), `${run} ${status}\n`);

interface Step {
  readonly run: string;
  readonly status: string;
}

const stepsIn = (folder: string): Step[] =>
  linesIn(stepsFile(folder)).map((line) => {
    const [run = '', status = ''] = line.split(' ');
    return { run, status };
  });

/** The last step that is in state.json, and the run that may have been about to start after it. */
const lastSteps = (folder: string): { readonly last: Step | null; readonly starting: string | null } => {
  const steps = stepsIn(folder);
  const newest = steps.at(-1);
  return {
    last: steps.findLast(({ status }) => status !== 'starting') ?? null,
    starting: newest?.status === 'starting' ? newest.run : null,
  };
};

/** Returns the run that is missing in state.json; null when state.json has the last run, or when that has ended and there is no state.json. */
export const missingRun = (folder: string, view: RunView | null): string | null => {
  const { last, starting } = lastSteps(folder);
  if (last === null || view?.run === last.run || (view !== null && view.run === starting)) return null;
  const isOpen = last.status === 'running' || last.status === 'interrupted';
  return view !== null || isOpen ? last.run : null;
};

/** The verify commands of a run that was started here. */
export const recordedGate = (folder: string, run: string): readonly string[] =>
  knownVersions(folder, run)[0]?.gate?.verify ?? [];

/** Called with the commit of the branch when a run is complete. */
export const recordTip = (folder: string, run: string, commit: string): void =>
  append(tipsFile(folder), `${run} ${commit}\n`);

/** The commit that the branch of a run had when it was complete; null when it is not known. */
export const recordedTip = (folder: string, run: string): string | null =>
  linesIn(tipsFile(folder))
    .findLast((line) => line.startsWith(`${run} `))
    ?.slice(run.length + 1) ?? null;

/** Called before agents work on a branch, with the branch to land it on. */
export const recordBase = (folder: string, branch: string, base: string | null): void =>
  append(basesFile(folder), `${branch} ${base ?? ''}\n`);

/** Returns the branch to land it on: null when it was started from no branch, undefined when nothing is recorded. */
export const recordedBase = (folder: string, branch: string): string | null | undefined => {
  // Names of branches have no blanks.
  const line = linesIn(basesFile(folder)).findLast((each) => each.startsWith(`${branch} `));
  return line === undefined ? undefined : line.slice(branch.length + 1) || null;
};

/** Whether a run was started here. */
export const isKnown = (folder: string, { run }: Pick<RunView, 'run'>): boolean =>
  knownVersions(folder, run).length > 0;

/** The workspace of a run that was started here; null for any other run. */
export const recordedWorkspace = (folder: string, run: string): string | null =>
  knownVersions(folder, run)[0]?.workspace?.root ?? null;

/** How a run ended, once for each time; null for a run that was not started here. */
export const recordedEnds = (folder: string, run: string): readonly string[] | null => {
  if (!isKnown(folder, { run })) return null;
  const steps = stepsIn(folder).filter((step) => step.run === run);
  return steps.map(({ status }) => status).filter((status) => status !== 'starting' && status !== 'running');
};

/** A run that was started here has ended only if that is its last recorded step, regardless of state.json. */
export const asRecorded = (folder: string, view: RunView): RunView => {
  const { status } = view;
  if (status === 'running' || status === 'interrupted' || !isKnown(folder, view)) return view;
  const { last } = lastSteps(folder);
  return last?.run === view.run && last.status === status
    ? view
    : { ...view, status: 'interrupted', cause: null, detail: null };
};

export type Recognised =
  | 'same'
  /** It has no record here: another user, machine or container has written it. */
  | 'unknown'
  /** It differs from its record in these fields. */
  | readonly string[];

/** Compares a run with its record. */
export const recognise = (folder: string, view: RunView): Recognised => {
  const versions = knownVersions(folder, view.run);
  if (versions.length === 0) return 'unknown';
  const different = versions.map((known) => differences(known, view));
  return different.some((names) => names.length === 0) ? 'same' : different[0]!;
};

const differences = (known: Version, view: RunView): string[] => {
  const now = asSaved(view);
  return identityFields.filter((name) => !isSame(known.written ?? known, now, name));
};

/** As JSON returns it. */
const asSaved = (view: RunView) => JSON.parse(JSON.stringify(identityOf(view))) as RunIdentity;

const isSame = (then: RunIdentity, now: RunIdentity, name: keyof RunIdentity): boolean =>
  isDeepStrictEqual(then[name] ?? null, now[name] ?? null);

/** Whether two views belong to the same start of a run. */
export const isSameStart = (one: RunView, other: RunView): boolean => isDeepStrictEqual(asSaved(one), asSaved(other));

/** Restores the secrets that are masked in state.json, as far as they are recorded here. */
export const withSecrets = (folder: string, view: RunView): RunView => {
  const redacted = knownVersions(folder, view.run).filter(({ written }) => written !== undefined);
  if (redacted.length === 0) return view;
  const now = asSaved(view);
  const known = identityFields.flatMap((name) => {
    const version = redacted.find(({ written }) => isSame(written!, now, name));
    return version ? [[name, version[name]]] : [];
  });
  return { ...view, ...(Object.fromEntries(known) as Partial<RunIdentity>) };
};

/** Returns a function that records checkpoints of a change. */
export const checkpointRecorder =
  (project: Project, change: string, env: NodeJS.ProcessEnv) =>
  (checkpoint: NamedCommit): void =>
    recordCheckpoint(userRecordFolder(project, change, env), checkpoint);

/** Called with every checkpoint: anyone who can write to the repository can move a ref. */
const recordCheckpoint = (folder: string, { run, name, commit }: NamedCommit): void =>
  append(checkpointsFile(folder), `${run} ${name} ${commit}\n`);

const append = (path: string, line: string): void => {
  createFolder(dirname(path));
  const file = openSafely(path, 'append');
  try {
    writeAll(file, line);
  } finally {
    closeSync(file);
  }
};

const linesIn = (path: string): string[] =>
  readSafely(path, Infinity)?.toString('utf8').split('\n').filter(Boolean) ?? [];

interface NamedCommit {
  readonly run: string;
  readonly name: string;
  readonly commit: string;
}

/** Compares a checkpoint with its record; unknown when its run has no record here. */
export const recogniseCheckpoint = (
  folder: string,
  { run, name, commit }: NamedCommit,
): 'same' | 'unknown' | 'changed' => {
  const lines = linesIn(checkpointsFile(folder));
  if (lines.includes(`${run} ${name} ${commit}`)) return 'same';
  return isKnown(folder, { run }) || lines.some((line) => line.startsWith(`${run} `)) ? 'changed' : 'unknown';
};

/** Whether other changes of the same project were run here. */
export const hasOtherRuns = (folder: string): boolean =>
  entriesOf(dirname(folder)).some(
    ({ name }) => name !== basename(folder) && existsSync(recordedRunsFolder(join(dirname(folder), name))),
  );

/** Called when a run starts, with the repository that git uses in the project; null for none. */
export const recordRepository = (folder: string, repository: Repository | null): void => {
  createFolder(dirname(folder));
  replaceSafely(repositoryFile(folder), `${JSON.stringify(repository)}\n`);
};

/** The repository of the runs of a project: null for none, undefined when nothing is recorded. */
export const recordedRepository = (folder: string): Repository | null | undefined => {
  const content = readSafely(repositoryFile(folder))?.toString('utf8');
  return content === undefined ? undefined : orNull(repositoryShape)(parseJson(content));
};

const repositoryShape: Shape<Repository> = object<Repository>({
  gitFolder: required(text),
  sharedFolder: required(text),
  root: required(text),
});
