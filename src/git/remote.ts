import { currentScope } from '../process/scope.ts';
import { git, type GitArguments, type GitCall, type GitResult } from './call/git.ts';
import { inMirror, type Mirror } from './mirror.ts';
import { toUtf8 } from './paths.ts';
import { reasonFor } from './outcome.ts';

export interface Remote extends Mirror {
  /** May contain a password, so it is passed in the environment and never printed. */
  readonly url: string;
}

/** Returns the address of a remote of a repository; null if it has none of this name. */
export const configuredUrl = async (cwd: string, name: string): Promise<string | null> => {
  const { code, stdout } = await git(['config', '--get', `remote.${name}.url`], { cwd });
  return code === 0 ? toUtf8(stdout).trim() || null : null;
};

/** How long it may take to read refs. */
const readMs = 2 * 60_000;
/** How long it may take to transfer objects. The first time, that is the whole repository. */
const transferMs = 60 * 60_000;

export type RemoteRefs =
  | {
      readonly ok: true;
      readonly refs: ReadonlyMap<string, string>;
      /** The branch of HEAD, if that is among the names; null if it is not known. */
      readonly main: string | null;
    }
  | { readonly ok: false; readonly why: string };

/** Reads some refs of the remote. Those that it does not have are missing in the result. */
export const readRemoteRefs = async (remote: Remote, names: readonly string[]): Promise<RemoteRefs> => {
  const result = await onRemote(remote, ['ls-remote', '--symref', 'origin', ...names], { networkMs: readMs });
  if (result.code !== 0) return { ok: false, why: reasonFor(result) };
  const rows = result.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => toUtf8(line).split('\t') as [string, string]);
  const target = rows.find(([id, ref]) => ref === 'HEAD' && id.startsWith('ref: refs/heads/'))?.[0];
  const refs = rows.filter(([id, ref]) => names.includes(ref) && !id.startsWith('ref: '));
  return {
    ok: true,
    refs: new Map(refs.map(([id, ref]) => [ref, id])),
    main: target?.slice('ref: refs/heads/'.length) ?? null,
  };
};

export interface FetchOptions {
  /** How many commits of each; null for all. */
  readonly depth?: number | null;
  /** Aborted to end it. */
  readonly kill?: AbortSignal;
}

/** Copies refs of the remote into the mirror. `refspecs` are those of `git fetch`. Returns the reason if it fails. */
export const fetchRefs = async (
  remote: Remote,
  refspecs: readonly string[],
  { depth = null, kill }: FetchOptions = {},
): Promise<string | null> => {
  const shallow = depth === null ? [] : [`--depth=${depth}`];
  const result = await onRemote(remote, ['fetch', '--quiet', ...shallow, 'origin', ...refspecs], {
    networkMs: transferMs,
    ...(kill && { kill }),
  });
  return result.code === 0 ? null : reasonFor(result);
};

export interface PushedRef {
  readonly name: string;
  /** null deletes it. */
  readonly commit: string | null;
  /** The commit that the remote must have; null if it must not have the ref. */
  readonly expected: string | null;
}

export type PushResult =
  | { readonly kind: 'pushed' }
  /** The remote has other commits than expected. Nothing was changed. */
  | { readonly kind: 'moved'; readonly why: string }
  /** The remote does not allow it. Nothing was changed. */
  | { readonly kind: 'denied'; readonly why: string }
  /** It is not known whether the refs were changed. */
  | { readonly kind: 'unknown'; readonly why: string };

/** Changes all of these refs of the remote, or none. */
export const pushRefs = async (remote: Remote, refs: readonly PushedRef[]): Promise<PushResult> => {
  const leases = refs.map(({ name, expected }) => `--force-with-lease=${name}:${expected ?? ''}`);
  const specs = refs.map(({ name, commit }) => `${commit ?? ''}:${name}`);
  const result = await onRemote(remote, ['push', '--quiet', '--porcelain', '--atomic', ...leases, 'origin', ...specs], {
    networkMs: transferMs,
  });
  if (result.code === 0) return { kind: 'pushed' };
  const rejected = result.stdout.split('\n').filter((line) => line.startsWith('!'));
  const why = rejected.map(reasonIn).find((reason) => !/atomic/i.test(reason)) ?? reasonFor(result);
  if (rejected.some((line) => moved.test(line))) return { kind: 'moved', why };
  return rejected.length > 0 ? { kind: 'denied', why } : { kind: 'unknown', why };
};

/** What git says about a ref that another process has changed in the meantime. */
const moved = /stale info|cannot lock ref|failed to update ref|incorrect old value|reference already exists/;

const reasonIn = (line: string): string => line.split('\t')[2] ?? line;

const onRemote = (
  { mirror, url }: Remote,
  args: GitArguments,
  limits: Pick<GitCall, 'networkMs' | 'kill'>,
): Promise<GitResult> => {
  const { cwd, env } = inMirror(mirror);
  return git(args, { cwd, env: { ...env, ...urlEnvironment(url), ...stallLimits }, ...limits });
};

/** A transfer over HTTP that stands still for a minute is given up. */
const stallLimits = { GIT_HTTP_LOW_SPEED_LIMIT: '1', GIT_HTTP_LOW_SPEED_TIME: '60' };

/** Adds the address to the settings that the environment has already, such as the header with which CI logs in. */
const urlEnvironment = (url: string): NodeJS.ProcessEnv => {
  const { env } = currentScope();
  const count = Number(env.GIT_CONFIG_COUNT ?? 0);
  return {
    GIT_CONFIG_COUNT: String(count + 1),
    [`GIT_CONFIG_KEY_${count}`]: 'remote.origin.url',
    [`GIT_CONFIG_VALUE_${count}`]: url,
    GIT_SSH_COMMAND:
      env.GIT_SSH_COMMAND ??
      'ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=20 -o ServerAliveCountMax=3',
  };
};
