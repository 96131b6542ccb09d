import { existsSync, mkdirSync, mkdtempSync, realpathSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type UserError, userError } from '../errors.ts';
import { userFolder } from '../files/home.ts';
import { createFolder } from '../files/folders.ts';
import { guardGit } from '../git/call/git.ts';
import { distrust } from '../git/call/program.ts';
import { trustedPath, untrustedAround } from '../process/trusted-path.ts';
import type { Command, Entered, Sandbox, SandboxedAgent } from '../process/sandbox-types.ts';
import { tagVariable } from '../process/tree.ts';
import { isWithin, realPath } from '../process/which.ts';
import { killNamespace, findNamespaceInit, type NamespaceInit } from './namespace.ts';
import { findRuntime, type Runtime, type Unusable } from './find-runtime.ts';
import { watchLinks } from './planted-links.ts';
import { type RuntimeWorker, startWorker } from './worker-process.ts';
import { absentPath, existing, identitiesOf, type Quarantined, quarantinePlanted, replacedSince } from './planted.ts';
import { hostsOf, isHost, type Policy, policyOf } from './policy.ts';
import { shellLine } from './shell-line.ts';
import { saveForbidden } from './leftover.ts';
import { removeFolder } from './remove-folder.ts';
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
  const wrong = request.allow.find((host) => !isHost(host));
  if (wrong !== undefined)
    throw userError(
      'bad-value',
      '--sandbox-allow',
      'must be a host such as registry.npmjs.org or *.example.com',
      wrong,
    );
  const missing = request.write.find((path) => !existsSync(path));
  if (missing !== undefined)
    throw userError('bad-value', '--sandbox-write', 'must be an existing file or folder', missing);
  const own = request.write.find((path) => isWithin(realPath(path), realPath(userFolder(request.env))));
  if (own !== undefined)
    throw userError('bad-value', '--sandbox-write', "must not be inside Spool's own state folder", own);
  const untrusted = untrustedBy(request);
  distrust(untrusted);
  const runtime = findRuntime(request.env, untrusted);
  if ('why' in runtime) return runtime;
  const base = mkdtempSync(join(realpathSync(tmpdir()), 'spool-sandbox-'));
  const sandbox = createSandbox(request, { runtime, base, untrusted });
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

/** Returns the known folders that agents of this run or of earlier ones can write to. */
const untrustedBy = ({ root, cwd, env, agents, write }: SandboxRequest): string[] => [
  root,
  ...[root, cwd].flatMap(untrustedAround),
  ...write,
  ...agents.flatMap(({ sandbox }) => sandbox?.data(homeOf(env), env) ?? []),
];

const homeOf = (env: NodeJS.ProcessEnv): string => env.HOME || homedir();

interface Parts {
  readonly runtime: Runtime;
  readonly base: string;
  readonly untrusted: readonly string[];
}

const createSandbox = (request: SandboxRequest, { runtime, base, untrusted }: Parts) => {
  const { root, env, run, agents, allow } = request;
  const home = homeOf(env);
  const path = trustedPath(env.PATH ?? '', untrusted);
  const hosts = hostsOf(agents, allow);
  const workerFolder = join(base, 'worker');
  const programs = [runtime.folder, ownFolder(), workerFolder];
  /** Writable for commands of the user, not for agents. */
  const shared = join(base, 'files');
  for (const folder of [workerFolder, shared]) mkdirSync(folder, { mode: 0o700 });
  let notify: (text: string) => void = () => {};
  let worker: Promise<RuntimeWorker> | null = null;
  /** The reason why nothing can be run in the sandbox any more. */
  let brokenReason: string | null = null;
  const trees = new Map<string, Promise<WorkTreePaths>>();

  const workerEnv = { ...env, PATH: path, TMPDIR: workerFolder, [tagVariable]: `${run}/sandbox` };
  /** Replaces a worker that has exited. */
  const currentWorker = async (stop?: AbortSignal): Promise<RuntimeWorker> => {
    worker ??= startWorker({ folder: workerFolder, base, env: workerEnv, runtime, hosts, stop });
    try {
      const found = await worker;
      if (!found.lost.aborted) return found;
    } catch (error) {
      worker = null;
      throw error;
    }
    worker = null;
    return currentWorker(stop);
  };

  const treeAt = (cwd: string): Promise<WorkTreePaths> => {
    const known = trees.get(cwd) ?? findWorkTreePaths(cwd, root);
    trees.set(cwd, known);
    known.catch(() => trees.delete(cwd));
    return known;
  };

  const enter = async (command: Command, agent: SandboxedAgent | null): Promise<Entered> => {
    if (brokenReason !== null) throw new Error(brokenReason);
    const tmp = mkdtempSync(join(base, 'tmp-'));
    const tree = await treeAt(command.cwd);
    const links = watchLinks(tree.gitFolders, [tree.root, ...untrusted]);
    const own = agent === null ? [tmp, shared] : [tmp];
    const policy = policyOf({
      ...request,
      env: command.env,
      userEnv: env,
      home,
      tree,
      agent,
      tmp,
      own,
      binary: command.binary,
      programs,
    });
    for (const folder of policy.foldersToCreate) mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Only existing folders can be hidden.
    createFolder(userFolder(env));
    if (policy.worktrees !== null) createFolder(policy.worktrees);
    const rules = rulesOf(policy);
    const current = await currentWorker();
    const line = shellLine(command, { ...policy.variables, [tagVariable]: command.tag });
    const wrapped = await current.wrap({ line, id: command.tag, ...rules });
    const identities = identitiesOf(rules.readOnly);
    const note = saveForbidden(env, { absent: rules.absent, known: links.known });
    let init: Promise<NamespaceInit | null> = Promise.resolve(null);
    return {
      // bubblewrap replaces the shell: to end with its parent, it must be a child of Spool.
      binary: '/bin/sh',
      args: ['-c', `exec ${wrapped}`],
      env: { ...command.env, [tagVariable]: `${command.tag}/sandbox` },
      tmp,
      started: (pid) => {
        init = findNamespaceInit(pid);
      },
      lost: current.lost,
      leave: async () => {
        const hasEnded = await killNamespace(await init);
        if (!hasEnded) {
          brokenReason = 'an earlier process in it does not exit';
          notify(
            'A process in the sandbox does not exit. Nothing else is run there, and its further changes are not checked.',
          );
        }
        // First of all, because git must not run if one of them is left.
        const refused = links.refuseNew();
        const { moved, left } = quarantinePlanted(rules.absent);
        for (const text of [...replacedSince(identities), ...moved]) notify(text);
        if (left.length > 0 || refused?.areGone === false) note.handOver();
        // Otherwise the next Spool checks again.
        else if (hasEnded) note.forget();
        current.cleanUp();
        removeFolder(tmp);
        if (refused !== null) throw refused.error;
        if (left[0] !== undefined) throw refuseLeft(left[0]);
      },
    };
  };

  const close = async () => {
    const open = await worker?.catch(() => null);
    await open?.end();
    removeFolder(base);
  };

  return {
    about: `sandbox-runtime ${runtime.version}`,
    enter,
    close,
    newFile: () => join(shared, crypto.randomUUID()),
    onNotice: (listener: (text: string) => void) => {
      notify = listener;
    },
    canWrite: async (folder: string, stop: AbortSignal) => {
      const current = await currentWorker(stop);
      return current.canWrite(folder, stop);
    },
  };
};

/** The path may make git run programs, so git is not run any more. */
const refuseLeft = ({ path, why }: Quarantined['left'][number]): UserError => {
  guardGit(() => Promise.resolve(`${path} may have been created in the sandbox, and cannot be moved away (${why})`));
  return userError('io', path, why);
};

/** Returns `dist/`: an agent that works where Spool is installed must not change it. */
const ownFolder = () => fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');

/** Existing paths are bound read-only; missing ones must not be created. Seatbelt denies both by name. */
const rulesOf = ({ writable, guarded, creatable, hidden }: Policy) => {
  const there = existing(guarded);
  const absent = guarded.filter((path) => !there.includes(path));
  // bubblewrap makes hidden paths unwritable as well.
  const hiddenWithin = hidden.filter((path) => writable.some((folder) => isWithin(path, folder)));
  return {
    writable: existing(writable),
    readOnly: [...(process.platform === 'linux' ? there : [...guarded, ...hiddenWithin]), ...existing(creatable)],
    hidden,
    absent: absent.map((path) => absentPath(path, writable)),
  };
};
