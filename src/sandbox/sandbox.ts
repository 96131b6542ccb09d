import { existsSync, mkdirSync, mkdtempSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { userError } from '../errors.ts';
import { homeOf, userFolder } from '../files/home.ts';
import { distrust } from '../git/call/program.ts';
import { trustedPath, untrustedAround } from '../process/trusted-path.ts';
import type { Command, Entered, Sandbox, SandboxedAgent } from '../process/sandbox-types.ts';
import { tagVariable } from '../process/tree.ts';
import { isWithin, realPath } from '../process/which.ts';
import { type EnterContext, enterSandbox } from './enter.ts';
import { findRuntime, type InstalledRuntime, type Unusable } from './find-runtime.ts';
import { hostsOf, isHost } from './policy.ts';
import { removeFolder } from './remove-folder.ts';
import { type SandboxRuntime, startRuntime } from './runtime.ts';
import { findWorkTreePaths, type WorkTreePaths } from './work-tree-paths.ts';

export interface SandboxRequest {
  /** The project whose state and settings are protected. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  /** Prefix of the tags of the sandbox's own processes. */
  readonly run: string;
  /** The agents that may run in the sandbox. */
  readonly agents: readonly SandboxedAgent[];
  /** Hosts that the user allows. */
  readonly allow: readonly string[];
  /** Paths that the user allows to be written. */
  readonly write: readonly string[];
  /** Returns paths that the next process must not see, besides the usual ones. */
  readonly hidden?: () => readonly string[];
  /** The folder where Spool was started. Nothing of the project around it is used to build the sandbox. */
  readonly cwd: string;
  /** Abort to cancel the start. */
  readonly stop: AbortSignal;
}

/** Opens a sandbox and tests it. Throws if it cannot be used. */
export const openSandbox = async (request: SandboxRequest): Promise<Sandbox> => {
  const sandbox = await trySandbox(request);
  if ('why' in sandbox) throw userError('no-sandbox', sandbox.why, sandbox.fix);
  return sandbox;
};

/** Like `openSandbox`, but returns the reason if it cannot be used. */
export const trySandbox = async (request: SandboxRequest): Promise<Sandbox | Unusable> => {
  checkRequest(request);
  const untrusted = untrustedBy(request);
  distrust(untrusted);
  const installed = findRuntime(request.env, untrusted);
  if ('why' in installed) return installed;
  const base = mkdtempSync(join(realpathSync(tmpdir()), 'spool-sandbox-'));
  const sandbox = createSandbox(request, { installed, base, untrusted });
  try {
    const owner = statSync(request.root).uid;
    if ((await sandbox.canWrite(request.root, request.stop)) || owner === process.getuid?.()) return sandbox;
    await sandbox.close();
    return {
      why: `the sandbox cannot write to ${request.root}, which belongs to user ${owner}`,
      fix: 'Run Spool as that user.',
    };
  } catch (error) {
    await sandbox.close();
    const why = `it does not start: ${(error as Error).message.replace(/\.$/, '')}`;
    return { why, fix: 'docs/security.md says what it needs.' };
  }
};

/** Throws if the user allows something that cannot be allowed. */
const checkRequest = ({ allow, write, env }: SandboxRequest): void => {
  const refuse = (flag: string, rule: string, value: string | undefined) => {
    if (value !== undefined) throw userError('bad-value', flag, rule, value);
  };
  const isOwn = (path: string) => isWithin(realPath(path), realPath(userFolder(env)));
  const badHost = allow.find((host) => !isHost(host));
  refuse('--sandbox-allow', 'must be a host such as registry.npmjs.org or *.example.com', badHost);
  const missing = write.find((path) => !existsSync(path));
  refuse('--sandbox-write', 'must be an existing file or folder', missing);
  refuse('--sandbox-write', "must not be inside Spool's own state folder", write.find(isOwn));
};

/** Returns the known folders that agents of this run or of earlier ones can write to. */
const untrustedBy = ({ root, cwd, env, agents, write }: SandboxRequest): string[] => [
  root,
  ...[root, cwd].flatMap(untrustedAround),
  ...write,
  ...agents.flatMap(({ sandbox }) => sandbox?.data(homeOf(env), env) ?? []),
];

interface Parts {
  readonly installed: InstalledRuntime;
  readonly base: string;
  readonly untrusted: readonly string[];
}

const createSandbox = (request: SandboxRequest, { installed, base, untrusted }: Parts) => {
  const { root, env, run, agents, allow } = request;
  const folder = join(base, 'runtime');
  const shared = join(base, 'files');
  for (const each of [folder, shared]) mkdirSync(each, { mode: 0o700 });
  const path = trustedPath(env.PATH ?? '', untrusted);
  const hostEnv = { ...env, PATH: path, TMPDIR: folder, [tagVariable]: `${run}/sandbox` };
  const hosts = hostsOf(agents, allow);
  const runtime = createRuntimeSlot((stop) => startRuntime({ folder, base, env: hostEnv, installed, hosts, stop }));
  let notify: (text: string) => void = () => {};
  let brokenReason: string | null = null;
  const context: EnterContext = {
    ...request,
    home: homeOf(env),
    base,
    shared,
    untrusted,
    programs: [installed.folder, ownFolder(), folder],
    runtime: runtime.current,
    treeAt: createTreeCache(root),
    notify: (text) => notify(text),
    refuseFurther: (reason) => {
      brokenReason = reason;
    },
  };
  return {
    description: `sandbox-runtime ${installed.version}`,
    enter: async (command: Command, agent: SandboxedAgent | null): Promise<Entered> => {
      if (brokenReason !== null) throw new Error(brokenReason);
      return enterSandbox(command, agent, context);
    },
    close: async () => {
      await runtime.end();
      removeFolder(base);
    },
    newFile: () => join(shared, crypto.randomUUID()),
    onNotice: (listener: (text: string) => void) => {
      notify = listener;
    },
    canWrite: async (path: string, stop: AbortSignal) => (await runtime.current(stop)).canWrite(path, stop),
  };
};

/** Holds the runtime, which is started when it is needed. */
const createRuntimeSlot = (start: (stop?: AbortSignal) => Promise<SandboxRuntime>) => {
  let runtime: Promise<SandboxRuntime> | null = null;
  /** Replaces a runtime that has exited. */
  const current = async (stop?: AbortSignal): Promise<SandboxRuntime> => {
    runtime ??= start(stop);
    try {
      const found = await runtime;
      if (!found.lost.aborted) return found;
    } catch (error) {
      runtime = null;
      throw error;
    }
    runtime = null;
    return current(stop);
  };
  return {
    current,
    end: async () => {
      const open = await runtime?.catch(() => null);
      await open?.end();
    },
  };
};

/** Looks for the work tree around a folder once, unless it fails. */
const createTreeCache = (root: string) => {
  const trees = new Map<string, Promise<WorkTreePaths>>();
  return (cwd: string): Promise<WorkTreePaths> => {
    const known = trees.get(cwd) ?? findWorkTreePaths(cwd, root);
    trees.set(cwd, known);
    known.catch(() => trees.delete(cwd));
    return known;
  };
};

/** Returns `dist/`: an agent that works where Spool is installed must not change it. */
const ownFolder = () => fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');
