import { existsSync, mkdirSync, mkdtempSync, realpathSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { userError } from '../errors.ts';
import { userFolder } from '../files/home.ts';
import { createFolder } from '../files/folders.ts';
import { distrust, trustedPath, untrustedAround } from '../git/call/program.ts';
import type { Command, Entered, Sandbox, SandboxedAgent } from '../process/sandbox.ts';
import { tagVariable } from '../process/tree.ts';
import { isWithin, realPath } from '../process/which.ts';
import { awaitEnd, firstChildOf, type FirstProcess } from './end.ts';
import { findRuntime, type Runtime, type Unusable } from './find.ts';
import { watchLinks } from './git-links.ts';
import { type Keeper, startKeeper } from './keeper-process.ts';
import { absentPath, existing, identitiesOf, replacedSince, setPlantedAside } from './planted.ts';
import { hostsOf, isHost, type Policy, policyOf } from './policy.ts';
import { shellLine } from './quote.ts';
import { noteAbsent } from './leftover.ts';
import { removeFolder } from './remove.ts';
import { factsOf, type TreeFacts } from './tree.ts';

export interface SandboxRequest {
  /** The project whose state and settings are protected. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  /** The tags of its own processes begin with it. */
  readonly run: string;
  /** The agents that may work inside. */
  readonly agents: readonly SandboxedAgent[];
  /** Hosts that the user allows. */
  readonly allow: readonly string[];
  /** Paths that the user allows to be written. */
  readonly write: readonly string[];
  /** Where Spool was started: nothing of the project around it is used to build the sandbox. */
  readonly cwd: string;
  /** Aborted when the sandbox is not waited for any more. */
  readonly stop: AbortSignal;
}

/** Opens a sandbox and tries it out; an error in one line when it cannot be used. */
export const openSandbox = async (request: SandboxRequest): Promise<Sandbox> => {
  const sandbox = await trySandbox(request);
  if ('why' in sandbox) throw userError('no-sandbox', sandbox.why, sandbox.fix);
  return sandbox;
};

/** The same for whoever wants to know why it cannot be used. */
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
    throw userError('bad-value', '--sandbox-write', "must not be inside of Spool's own state folder", own);
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
      why: `nothing inside can write to ${request.root}, which belongs to user ${owner}`,
      fix: 'Run Spool as that user.',
    };
  } catch (error) {
    await sandbox.close();
    const why = `it does not start: ${(error as Error).message.replace(/\.$/, '')}`;
    return { why, fix: 'docs/security.md says what it needs.' };
  }
};

/** Where agents can write, in this run or an earlier one, as far as that is known. */
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
  const keeperFolder = join(base, 'keeper');
  const programs = [runtime.folder, ownFolder(), keeperFolder];
  /** Writable for the user's commands, and not for agents. */
  const shared = join(base, 'files');
  for (const folder of [keeperFolder, shared]) mkdirSync(folder, { mode: 0o700 });
  let notify: (text: string) => void = () => {};
  let keeper: Promise<Keeper> | null = null;
  /** Why nothing can be run inside any more. */
  let stuck: string | null = null;
  const trees = new Map<string, Promise<TreeFacts>>();

  const keeperEnv = { ...env, PATH: path, TMPDIR: keeperFolder, [tagVariable]: `${run}/sandbox` };
  /** One that was lost is replaced. */
  const currentKeeper = async (stop?: AbortSignal): Promise<Keeper> => {
    keeper ??= startKeeper({ folder: keeperFolder, base, env: keeperEnv, runtime, hosts, stop });
    try {
      const found = await keeper;
      if (!found.lost.aborted) return found;
    } catch (error) {
      keeper = null;
      throw error;
    }
    keeper = null;
    return currentKeeper(stop);
  };

  const treeAt = (cwd: string): Promise<TreeFacts> => {
    const known = trees.get(cwd) ?? factsOf(cwd, root);
    trees.set(cwd, known);
    known.catch(() => trees.delete(cwd));
    return known;
  };

  const enter = async (command: Command, agent: SandboxedAgent | null): Promise<Entered> => {
    if (stuck !== null) throw new Error(stuck);
    const tmp = mkdtempSync(join(base, 'tmp-'));
    const tree = await treeAt(command.cwd);
    const links = watchLinks(tree.gitFolders);
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
    for (const folder of policy.needed) mkdirSync(folder, { recursive: true, mode: 0o700 });
    // What is not there cannot be hidden.
    createFolder(userFolder(env));
    if (policy.worktrees !== null) createFolder(policy.worktrees);
    const rules = rulesOf(policy);
    const session = await currentKeeper();
    const line = shellLine(command, { ...policy.variables, [tagVariable]: command.tag });
    const wrapped = await session.wrap({ line, id: command.tag, ...rules });
    const identities = identitiesOf(rules.readOnly);
    const forget = noteAbsent(env, rules.absent);
    let first: Promise<FirstProcess | null> = Promise.resolve(null);
    return {
      // The shell is replaced by bubblewrap: what ends with its parent must be a child of Spool.
      binary: '/bin/sh',
      args: ['-c', `exec ${wrapped}`],
      env: { ...command.env, [tagVariable]: `${command.tag}/sandbox` },
      tmp,
      started: (pid) => {
        first = firstChildOf(pid);
      },
      lost: session.lost,
      leave: async () => {
        const hasEnded = await awaitEnd(await first);
        if (!hasEnded) {
          stuck = 'a process that ran in it before does not end';
          notify(
            'A process in the sandbox does not end. Nothing more is run there, and what it still writes is not checked.',
          );
        }
        for (const text of [...replacedSince(identities), ...setPlantedAside(rules.absent)]) notify(text);
        // Otherwise the next Spool looks once more.
        if (hasEnded) forget();
        session.cleanUp();
        removeFolder(tmp);
        links.refuseNew();
      },
    };
  };

  const close = async () => {
    const open = await keeper?.catch(() => null);
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
      const session = await currentKeeper(stop);
      return session.canWrite(folder, stop);
    },
  };
};

/** `dist/`: an agent that works where Spool is installed must not change it. */
const ownFolder = () => fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');

/** What is there is bound read-only; what is not there must not have come into being. Seatbelt forbids both by name. */
const rulesOf = ({ writable, guarded, kept, hidden }: Policy) => {
  const there = existing(guarded);
  const absent = guarded.filter((path) => !there.includes(path));
  // What bubblewrap hides is not there to be written.
  const hiddenWithin = hidden.filter((path) => writable.some((folder) => isWithin(path, folder)));
  return {
    writable: existing(writable),
    readOnly: [...(process.platform === 'linux' ? there : [...guarded, ...hiddenWithin]), ...existing(kept)],
    hidden,
    absent: absent.map((path) => absentPath(path, writable)),
  };
};
