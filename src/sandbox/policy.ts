import { basename, join } from 'node:path';
import type { SandboxedAgent } from '../process/sandbox-types.ts';
import { isWithin, realPath } from '../process/which.ts';
import { secretsOf } from './secrets.ts';
import type { WorkTreePaths } from './work-tree-paths.ts';

/** What a process in the sandbox may do to files. */
export interface Policy {
  readonly writable: readonly string[];
  /** Exceptions from `writable`: read-only, and must not be created. */
  readonly guarded: readonly string[];
  /** Read-only if they exist, but may be created. */
  readonly creatable: readonly string[];
  readonly hidden: readonly string[];
  /** Folders that are created first, because an agent cannot create them itself. */
  readonly foldersToCreate: readonly string[];
  /** The folder of the work trees of other changes, which is created first too; null if it is not writable. */
  readonly worktrees: string | null;
  readonly variables: Readonly<Record<string, string>>;
}

export interface PolicyRequest {
  /** The project. */
  readonly root: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** The environment of the user, of which the process may have only a part. */
  readonly userEnv: NodeJS.ProcessEnv;
  readonly tree: WorkTreePaths;
  /** null for a command of the user. */
  readonly agent: SandboxedAgent | null;
  readonly binary: string;
  readonly tmp: string;
  /** Folders of the sandbox itself. */
  readonly own: readonly string[];
  /** Paths that the user allows to be written. */
  readonly write: readonly string[];
  /** Paths to hide besides the usual ones. */
  readonly hidden: readonly string[];
  /** Folders of programs that run outside of the sandbox: Spool and the sandbox runtime. */
  readonly programs: readonly string[];
}

export const policyOf = (request: PolicyRequest): Policy => {
  const { root, home, env, userEnv, tree, agent, tmp, own, write, binary, programs } = request;
  const needs = agent?.sandbox;
  const data = needs?.data(home, env) ?? [];
  const worktrees = worktreesOf(request);
  const writable = [tree.root, ...tree.gitDirs, ...data, ...write, ...own];
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
    creatable: needs?.created?.(home, env) ?? [],
    hidden: [...secretsOf(home, userEnv), ...request.hidden].filter(
      (path) =>
        !data.some((folder) => isWithin(path, folder)) &&
        !write.some((named) => realPath(named) === realPath(path)) &&
        ![root, tree.root, home].some((folder) => isWithin(folder, path)),
    ),
    foldersToCreate: data.filter(isFolderName),
    worktrees,
    variables: { TMPDIR: tmp, ...proxyExceptions(agent !== null) },
  };
};

/** Only for the folder of the project itself, not for one of its work trees, and only with git. */
const worktreesOf = ({ root, tree }: PolicyRequest): string | null => {
  const folder = join(root, '.spool', 'worktrees');
  return tree.gitDirs.length > 0 && isWithin(root, tree.root) && !isWithin(tree.root, folder) ? folder : null;
};

/** A name with an extension, such as `.claude.json`, is that of a file. */
const isFolderName = (path: string): boolean => !/.\.\w+$/.test(basename(path));

/** Excludes the work tree itself, and everything that is not writable anyway. */
const isGuarded = (
  path: string,
  { tree, write, home, data, writable }: PolicyRequest & { writable: readonly string[]; data: readonly string[] },
): boolean => {
  if (alwaysWritable(home).includes(path)) return ![...data, ...write].some((folder) => isWithin(path, folder));
  return path !== tree.root && writable.some((folder) => folder !== path && isWithin(path, folder));
};

/** Paths that the runtime makes writable for every command. */
const alwaysWritable = (home: string): string[] => [
  '/tmp/claude',
  '/private/tmp/claude',
  join(home, '.npm', '_logs'),
  join(home, '.claude', 'debug'),
];

/**
 * The runtime exempts loopback from the proxy. In the sandbox, loopback is a separate network, which the servers of
 * tests use. An agent has to reach the loopback of the machine, where a model may be.
 */
const proxyExceptions = (isAgent: boolean) => {
  const exceptions = isAgent ? '' : 'localhost,127.0.0.1,::1';
  return { NO_PROXY: exceptions, no_proxy: exceptions };
};

/** Accepts `localhost`, a name with a dot, optionally with a leading `*.`, or an address; all with an optional port. */
export const isHost = (text: string): boolean => {
  const found = /^(localhost|(?:\*\.)?[\w-]+(?:\.[\w-]+)+|\[[\da-f:]+\])(?::([1-9]\d{0,4}))?$/i.exec(text);
  if (found === null) return false;
  const [, name = '', port = '1'] = found;
  return Number(port) <= lastPort && !/^\*\.[\w-]+$/.test(name);
};

const lastPort = 65_535;

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** Returns the hosts that can be reached from the sandbox. */
export const hostsOf = (agents: readonly SandboxedAgent[], allow: readonly string[]): string[] => [
  ...new Set([...agents.flatMap(({ sandbox }) => sandbox?.hosts ?? []), ...loopback, ...allow]),
];
