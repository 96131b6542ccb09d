import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type UserError, userError } from '../errors.ts';
import { createFolder } from '../files/folders.ts';
import { userFolder } from '../files/home.ts';
import { guardGit } from '../git/call/guards.ts';
import type { Command, Entered, SandboxedAgent } from '../process/sandbox-types.ts';
import { tagVariable } from '../process/tree.ts';
import { isWithin } from '../process/which.ts';
import { saveForbidden } from './leftover.ts';
import { findNamespaceInit, killNamespace, type NamespaceInit } from './namespace.ts';
import { type LinkWatch, watchLinks } from './planted-links.ts';
import { absentPath, existing, identitiesOf, type Quarantined, quarantinePlanted, replacedSince } from './planted.ts';
import { type Policy, policyOf } from './policy.ts';
import { removeFolder } from './remove-folder.ts';
import { shellLine } from './shell-line.ts';
import type { SandboxRuntime } from './runtime.ts';
import type { WorkTreePaths } from './work-tree-paths.ts';

/** What all commands in a sandbox share. */
export interface EnterContext {
  /** The project. */
  readonly root: string;
  readonly home: string;
  /** The environment of the user. */
  readonly env: NodeJS.ProcessEnv;
  /** Paths that the user allows to be written. */
  readonly write: readonly string[];
  /** Returns paths that the next process must not see, besides the usual ones. */
  readonly hidden?: () => readonly string[];
  /** The folder of the sandbox's own files. */
  readonly base: string;
  /** Writable for commands of the user, not for agents. */
  readonly shared: string;
  /** Folders that agents can write to. */
  readonly untrusted: readonly string[];
  /** Folders of programs that run outside of the sandbox. */
  readonly programs: readonly string[];
  readonly runtime: () => Promise<SandboxRuntime>;
  readonly treeAt: (cwd: string) => Promise<WorkTreePaths>;
  /** Tells the user something. */
  readonly notify: (text: string) => void;
  /** Called with the reason why nothing can be run in the sandbox any more. */
  readonly refuseFurther: (reason: string) => void;
}

export const enterSandbox = async (
  command: Command,
  agent: SandboxedAgent | null,
  context: EnterContext,
): Promise<Entered> => {
  const tmp = mkdtempSync(join(context.base, 'tmp-'));
  const tree = await context.treeAt(command.cwd);
  const links = watchLinks(tree.gitDirs, [tree.root, ...context.untrusted]);
  const policy = policyOf({
    ...context,
    env: command.env,
    userEnv: context.env,
    hidden: context.hidden?.() ?? [],
    tree,
    agent,
    tmp,
    own: agent === null ? [tmp, context.shared] : [tmp],
    binary: command.binary,
  });
  createMissing(policy, context.env);
  const rules = rulesOf(policy);
  const runtime = await context.runtime();
  const line = shellLine(command, { ...policy.variables, [tagVariable]: command.tag });
  const wrapped = await runtime.wrap({ line, id: command.tag, ...rules });
  const checkAfter = watchForbidden(rules, links, context);
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
    lost: runtime.lost,
    leave: async () => {
      const hasEnded = await killNamespace(await init);
      if (!hasEnded) refuseStuck(context);
      const error = checkAfter(hasEnded);
      runtime.cleanUp();
      removeFolder(tmp);
      if (error !== null) throw error;
    },
  };
};

const createMissing = ({ foldersToCreate, worktrees }: Policy, env: NodeJS.ProcessEnv): void => {
  for (const folder of foldersToCreate) mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Only existing folders can be hidden.
  createFolder(userFolder(env));
  if (worktrees !== null) createFolder(worktrees);
};

type Rules = ReturnType<typeof rulesOf>;

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

/**
 * Returns a function that checks, after the command, what it created, replaced or linked although it must not, and
 * moves it away. The function returns the error that ends the run; null if there is none.
 */
const watchForbidden = (rules: Rules, links: LinkWatch, { env, notify }: EnterContext) => {
  const identities = identitiesOf(rules.readOnly);
  const saved = saveForbidden(env, { absent: rules.absent, known: links.known });
  return (hasEnded: boolean): UserError | null => {
    // First of all, because git must not run if one of them is left.
    const refused = links.refuseNew();
    const { moved, left } = quarantinePlanted(rules.absent);
    for (const text of [...replacedSince(identities), ...moved]) notify(text);
    if (left.length > 0 || refused?.areGone === false) saved.handOver();
    // Otherwise the next Spool checks again.
    else if (hasEnded) saved.forget();
    if (refused !== null) return refused.error;
    return left[0] === undefined ? null : refuseLeft(left[0]);
  };
};

const refuseStuck = ({ refuseFurther, notify }: EnterContext): void => {
  refuseFurther('an earlier process in it does not exit');
  notify('A process in the sandbox does not exit. Nothing else is run there, and its further changes are not checked.');
};

/** The path may make git run programs, so git is not run any more. */
const refuseLeft = ({ path, why }: Quarantined['left'][number]): UserError => {
  guardGit(() => Promise.resolve(`${path} may have been created in the sandbox, and cannot be moved away (${why})`));
  return userError('io', path, why);
};
