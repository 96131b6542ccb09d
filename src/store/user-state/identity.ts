import { isDeepStrictEqual } from 'node:util';
import { createFolder } from '../../files/folders.ts';
import { readSafely, replaceSafely } from '../../files/safe.ts';
import type { RunView } from '../../ralph/view.ts';
import { parseJson } from '../../text/shape.ts';
import { userRunFile, userRunsFolder } from '../paths.ts';
import { upgradeIdentity } from '../upgrade.ts';

/** What a run was started with, and where it works. Does not change during the run. */
const identityFields = [
  'run',
  'change',
  'source',
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
  'handover',
  'ladder',
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

/** Saves a start of a run. Keeps the previous version, which state.json has if Spool is killed in between. */
export const saveVersion = (folder: string, view: RunView, written: RunView): void => {
  createFolder(userRunsFolder(folder));
  const [asked, shown] = [identityOf(view), identityOf(written)];
  const version: Version = isDeepStrictEqual(asked, shown) ? asked : { ...asked, written: shown };
  writeVersions(folder, view.run, [version, ...knownVersions(folder, view.run).slice(0, 1)]);
};

export const dropPreviousVersion = (folder: string, run: string): void =>
  writeVersions(folder, run, knownVersions(folder, run).slice(0, 1));

const writeVersions = (folder: string, run: string, versions: readonly Version[]): void =>
  replaceSafely(userRunFile(folder, run), `${JSON.stringify(versions, null, 2)}\n`);

const knownVersions = (folder: string, run: string): Version[] => {
  const versions = parseJson(readSafely(userRunFile(folder, run))?.toString('utf8') ?? '');
  return Array.isArray(versions) ? (versions as Version[]).map(upgradeIdentity) : [];
};

/** The verify commands of a run that was started here. */
export const recordedGate = (folder: string, run: string): readonly string[] =>
  knownVersions(folder, run)[0]?.gate?.verify ?? [];

/** Whether a run was started here. */
export const isKnown = (folder: string, { run }: Pick<RunView, 'run'>): boolean =>
  knownVersions(folder, run).length > 0;

/** The workspace of a run that was started here; null for any other run. */
export const recordedWorkspace = (folder: string, run: string): string | null =>
  knownVersions(folder, run)[0]?.workspace?.root ?? null;

export type Recognised =
  | 'same'
  /** It is not recorded here: another user, machine or container has written it. */
  | 'unknown'
  /** It differs from what is recorded in these fields. */
  | readonly string[];

/** Compares a run with what is recorded of it. */
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
