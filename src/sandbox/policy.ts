import { basename, join } from 'node:path';
import type { SandboxedAgent } from '../process/sandbox.ts';
import { isWithin, realPath } from '../process/which.ts';
import { secretsOf } from './secrets.ts';
import type { TreeFacts } from './tree.ts';

/** What a process inside may do to files. */
export interface Policy {
  readonly writable: readonly string[];
  /** Inside of what is writable: can be read only, or must not come into being. */
  readonly guarded: readonly string[];
  /** The same of what may come into being. */
  readonly kept: readonly string[];
  readonly hidden: readonly string[];
  /** Folders that are created first, as an agent cannot create them itself. */
  readonly needed: readonly string[];
  /** The folder of the work trees of other changes, which is created first as well; null where it is out of reach. */
  readonly worktrees: string | null;
  readonly variables: Readonly<Record<string, string>>;
}

export interface PolicyRequest {
  /** The project. */
  readonly root: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** The variables of the user, of which the process may have only some. */
  readonly userEnv: NodeJS.ProcessEnv;
  readonly tree: TreeFacts;
  /** null for a command of the user's. */
  readonly agent: SandboxedAgent | null;
  /** The program that is started. */
  readonly binary: string;
  readonly tmp: string;
  /** Folders of the sandbox itself. */
  readonly own: readonly string[];
  /** What the user allows. */
  readonly write: readonly string[];
  /** Folders of programs that are run outside: of Spool, and of the sandbox. */
  readonly programs: readonly string[];
}

export const policyOf = (request: PolicyRequest): Policy => {
  const { root, home, env, userEnv, tree, agent, tmp, own, write, binary, programs } = request;
  const needs = agent?.sandbox;
  const data = needs?.data(home, env) ?? [];
  const worktrees = worktreesOf(request);
  const writable = [tree.root, ...tree.gitFolders, ...data, ...write, ...own];
  const guarded = [
    ...tree.guarded,
    ...[root, tree.root].flatMap((folder) => [join(folder, '.spool', '.state'), join(folder, '.spool', 'config.json')]),
    ...(worktrees === null ? [] : [worktrees]),
    ...(needs?.settings?.(home, env) ?? []),
    ...programs,
    ...(agent === null ? [] : [realPath(binary)]),
    ...alwaysWritable(home),
  ];
  return {
    writable,
    guarded: [...new Set(guarded)].filter((path) => isGuarded(path, { ...request, writable, data })),
    kept: needs?.created?.(home, env) ?? [],
    hidden: secretsOf(home, userEnv).filter(
      (path) =>
        !data.some((folder) => isWithin(path, folder)) &&
        !write.some((named) => realPath(named) === realPath(path)) &&
        ![root, tree.root, home].some((kept) => isWithin(kept, path)),
    ),
    needed: data.filter(isFolderName),
    worktrees,
    variables: { TMPDIR: tmp, ...proxyExceptions(agent !== null) },
  };
};

/** Only in the folder of the project itself, and where git has work trees at all. */
const worktreesOf = ({ root, tree }: PolicyRequest): string | null => {
  const folder = join(root, '.spool', 'worktrees');
  return tree.gitFolders.length > 0 && isWithin(root, tree.root) && !isWithin(tree.root, folder) ? folder : null;
};

/** A name with an ending, such as `.claude.json`, is that of a file. */
const isFolderName = (path: string): boolean => !/.\.\w+$/.test(basename(path));

/** Not the work tree itself, and nothing that lies outside of what is writable. */
const isGuarded = (
  path: string,
  { tree, write, home, data, writable }: PolicyRequest & { writable: readonly string[]; data: readonly string[] },
): boolean => {
  if (alwaysWritable(home).includes(path)) return ![...data, ...write].some((folder) => isWithin(path, folder));
  return path !== tree.root && writable.some((folder) => folder !== path && isWithin(path, folder));
};

/** What the runtime lets every command write. */
const alwaysWritable = (home: string): string[] => [
  '/tmp/claude',
  '/private/tmp/claude',
  join(home, '.npm', '_logs'),
  join(home, '.claude', 'debug'),
];

/**
 * The runtime says that loopback is not asked for by proxy: inside, that is a network of its own, in which the servers
 * of tests are. An agent is to reach the machine's, where a model may be.
 */
const proxyExceptions = (isAgent: boolean) => {
  const exceptions = isAgent ? '' : 'localhost,127.0.0.1,::1';
  return { NO_PROXY: exceptions, no_proxy: exceptions };
};

/** `localhost`, a name with a dot, perhaps of all below it, or an address; perhaps with a port. */
export const isHost = (text: string): boolean => {
  const found = /^(localhost|(?:\*\.)?[\w-]+(?:\.[\w-]+)+|\[[\da-f:]+\])(?::([1-9]\d{0,4}))?$/i.exec(text);
  if (found === null) return false;
  const [, name = '', port = '1'] = found;
  return Number(port) <= lastPort && !/^\*\.[\w-]+$/.test(name);
};

const lastPort = 65_535;

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** The hosts that can be reached from inside. */
export const hostsOf = (agents: readonly SandboxedAgent[], allow: readonly string[]): string[] => [
  ...new Set([...agents.flatMap(({ sandbox }) => sandbox?.hosts ?? []), ...loopback, ...allow]),
];
