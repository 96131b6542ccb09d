import { sha256 } from '@noble/hashes/sha2.js';
import { closeSync, existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { createFolder, entriesOf, openOwn, readOwn, replaceOwn, writeAll } from '../files/own.ts';
import { userFolder } from '../files/home.ts';
import type { Repository } from '../git/worktree.ts';
import { realPath } from '../process/which.ts';
import type { RunView } from '../ralph/view.ts';
import type { Project } from './project.ts';
import { object, orNull, parseJson, required, type Shape, text } from '../text/shape.ts';
import { upgradeIdentity } from './upgrade.ts';

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
  /** The same as state.json has it, where that is without the secrets in it. */
  readonly written?: RunIdentity;
}

const identityOf = (view: RunView): RunIdentity =>
  Object.fromEntries(identityFields.map((name) => [name, view[name]])) as unknown as RunIdentity;

const runFile = (folder: string, run: string) => join(folder, 'runs', `${run}.json`);

/**
 * Called before a run is written to state.json as started or resumed. The version before is kept as well: whoever is
 * killed in between has state.json as it was. `written` is what goes there; the record has the run as it was asked for,
 * as it is resumed from it.
 */
export const recordRun = (folder: string, view: RunView, written: RunView): void => {
  createFolder(join(folder, 'runs'));
  const [asked, shown] = [identityOf(view), identityOf(written)];
  const version: Version = isDeepStrictEqual(asked, shown) ? asked : { ...asked, written: shown };
  const versions = [version, ...knownVersions(folder, view.run).slice(0, 1)];
  writeVersions(folder, view.run, versions);
  append(journalFile(folder), `${view.run} starting\n`);
};

/** Called once state.json has the run as it was recorded: from now on it must have this one, and this version of it. */
export const confirmRun = (folder: string, { run }: RunView): void => {
  writeVersions(folder, run, knownVersions(folder, run).slice(0, 1));
  append(journalFile(folder), `${run} running\n`);
};

const writeVersions = (folder: string, run: string, versions: readonly Version[]): void =>
  replaceOwn(runFile(folder, run), `${JSON.stringify(versions, null, 2)}\n`);

const knownVersions = (folder: string, run: string): Version[] => {
  const versions = parseJson(readOwn(runFile(folder, run))?.toString('utf8') ?? '');
  return Array.isArray(versions) ? (versions as Version[]).map(upgradeIdentity) : [];
};

/** What became of the runs of a change, one line for each step: `<run> starting`, `<run> running`, `<run> complete`. */
const journalFile = (folder: string) => join(folder, 'ends');

/** Called before a run is written to state.json as ended. */
export const recordEnd = (folder: string, { run, status }: RunView): void =>
  append(journalFile(folder), `${run} ${status}\n`);

interface Step {
  readonly run: string;
  readonly status: string;
}

/** The last step of a run whose state.json was written, and the run that may have been about to start then. */
const lastSteps = (folder: string): { readonly last: Step | null; readonly starting: string | null } => {
  const steps = linesIn(journalFile(folder)).map((line) => {
    const [run = '', status = ''] = line.split(' ');
    return { run, status };
  });
  const newest = steps.at(-1);
  return {
    last: steps.findLast(({ status }) => status !== 'starting') ?? null,
    starting: newest?.status === 'starting' ? newest.run : null,
  };
};

/** The run that state.json must have and has not; null when it has the last one, or when that has ended and there is none. */
export const missingRun = (folder: string, view: RunView | null): string | null => {
  const { last, starting } = lastSteps(folder);
  if (last === null || view?.run === last.run || (view !== null && view.run === starting)) return null;
  const isOpen = last.status === 'running' || last.status === 'interrupted';
  return view !== null || isOpen ? last.run : null;
};

/** The commands that verify a run that was started here. */
export const recordedGate = (folder: string, run: string): readonly string[] =>
  knownVersions(folder, run)[0]?.gate?.verify ?? [];

const tipsFile = (folder: string) => join(folder, 'tips');

/** Called when a run is complete, with what its branch has then. */
export const recordTip = (folder: string, run: string, commit: string): void =>
  append(tipsFile(folder), `${run} ${commit}\n`);

/** What the branch of a run had when it was complete; null when that is not known. */
export const recordedTip = (folder: string, run: string): string | null =>
  linesIn(tipsFile(folder))
    .findLast((line) => line.startsWith(`${run} `))
    ?.slice(run.length + 1) ?? null;

const basesFile = (folder: string) => join(folder, 'bases');

/** Called before agents work on a branch, with the one that it is to be landed on. */
export const recordBase = (folder: string, branch: string, base: string | null): void =>
  append(basesFile(folder), `${branch} ${base ?? ''}\n`);

/** The branch that one is to be landed on: null for one that began on no branch, undefined when nothing is recorded. */
export const recordedBase = (folder: string, branch: string): string | null | undefined => {
  // No name of a branch has a blank in it.
  const line = linesIn(basesFile(folder)).findLast((each) => each.startsWith(`${branch} `));
  return line === undefined ? undefined : line.slice(branch.length + 1) || null;
};

/** Whether a run was started here. */
export const isKnown = (folder: string, { run }: Pick<RunView, 'run'>): boolean =>
  knownVersions(folder, run).length > 0;

/** Where a run that was started here works; null for any other. */
export const recordedWorkspace = (folder: string, run: string): string | null =>
  knownVersions(folder, run)[0]?.workspace?.root ?? null;

/** A run as it ended: one that was started here has ended only when that is the last that Spool has recorded, whatever state.json says. */
export const asRecorded = (folder: string, view: RunView): RunView => {
  const { status } = view;
  if (status === 'running' || status === 'interrupted' || !isKnown(folder, view)) return view;
  const { last } = lastSteps(folder);
  return last?.run === view.run && last.status === status ? view : { ...view, status: 'interrupted', cause: null };
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
  return identityFields.filter((name) => !isSame(known.written ?? known, now, name));
};

/** As it is read back. */
const asSaved = (view: RunView) => JSON.parse(JSON.stringify(identityOf(view))) as RunIdentity;

const isSame = (then: RunIdentity, now: RunIdentity, name: keyof RunIdentity): boolean =>
  isDeepStrictEqual(then[name] ?? null, now[name] ?? null);

/** Whether two views are of one run that was started once. */
export const isSameStart = (one: RunView, other: RunView): boolean => isDeepStrictEqual(asSaved(one), asSaved(other));

/** A run as it was asked for, with the secrets that state.json does not have, as far as they are known here. */
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

const repositoryFile = (folder: string) => join(dirname(folder), 'repository.json');

/** Called when a run starts, with the repository that git uses in the project; null for none. */
export const recordRepository = (folder: string, repository: Repository | null): void => {
  createFolder(dirname(folder));
  replaceOwn(repositoryFile(folder), `${JSON.stringify(repository)}\n`);
};

/** The repository of the runs of a project: null for none, undefined when nothing is recorded. */
export const recordedRepository = (folder: string): Repository | null | undefined => {
  const content = readOwn(repositoryFile(folder))?.toString('utf8');
  return content === undefined ? undefined : orNull(repositoryShape)(parseJson(content));
};

const repositoryShape: Shape<Repository> = object<Repository>({
  gitFolder: required(text),
  sharedFolder: required(text),
  root: required(text),
});

/** The context as persons have left it. */
export const contextRecord = (folder: string): string => join(folder, 'context.txt');
