import { join } from 'node:path';
import { createFolder, filesBelow } from '../../files/folders.ts';
import { homeOf, userFolder } from '../../files/home.ts';
import { removeSafely } from '../../files/safe.ts';
import { outsideEnvironment, writableFrom } from '../../git/call/program.ts';
import { describeEnd, runShell } from '../../process/shell.ts';
import { allowedEnvironment } from '../../process/scope.ts';
import { untrustedAround } from '../../process/trusted-path.ts';
import { realPath } from '../../process/which.ts';
import { newPrivateFolder } from '../../store/folders.ts';
import { visible } from '../../text/escape-hidden.ts';
import {
  changedBetween,
  type CommandFiles,
  commandFilesOf,
  copyCommandFiles,
  isWrittenSince,
} from '../../trust/command-files.ts';
import { containsPath } from '../../trust/outside.ts';
import type { NotifyContext, Send, Sending, Sent } from './notify.ts';
import type { NotifyMessage } from './message.ts';

const maxMs = 30_000;

/**
 * Prepares a notify command before an agent starts. It runs outside the sandbox, so an agent must not be able to change
 * what it does. It is not run if one of its files has changed since, or, if not all of its files are known, any file.
 * If all are known, it runs in a temporary folder with copies of them, where it finds nothing else of the project.
 */
export const prepareCommand = (command: string, context: NotifyContext): Send => {
  const before = filesOf(command, context);
  const sinceMs = Date.now();
  return (message, sending) => runCommand(command, message, { ...context, ...sending, before, sinceMs });
};

interface Running extends NotifyContext, Sending {
  readonly before: CommandFiles;
  readonly sinceMs: number;
}

const filesOf = (command: string, { project, plan, env }: NotifyContext): CommandFiles => {
  if (!plan.sandbox) return commandFilesOf(project, command, null);
  const path = environmentOf({ project, plan, env }).PATH ?? '';
  const [writable, home] = [writableAround(project.root), homeOf(env)];
  return commandFilesOf(project, command, { writable, home, folders: [home, userFolder(env)], path });
};

/** Returns the folders that agents can write to, as given and as real paths. */
const writableAround = (root: string): string[] => {
  const folders = [root, ...writableFrom(root)];
  return [...new Set([...folders, ...folders.map(realPath)])];
};

const runCommand = async (command: string, message: NotifyMessage, context: Running): Promise<Sent | null> => {
  const { project, reporter, plan, tag, stop, redactor } = context;
  const { view } = message;
  const now = filesOf(command, context);
  const refusal = whyRefused(command, context, now);
  if (refusal !== null) {
    reporter.warn(`spool: notify was not run: ${refusal}`);
    return null;
  }
  const copies = plan.sandbox && unclearIn(context, now).length === 0 ? copyFiles(context, now) : null;
  const result = await runShell({
    command,
    input: `${JSON.stringify(view)}\n`,
    cwd: copies?.cwd ?? project.root,
    env: {
      ...environmentOf(context),
      SPOOL_EVENT: message.kind,
      SPOOL_CHANGE: view.change,
      SPOOL_STATUS: view.status,
      SPOOL_CAUSE: view.cause ?? '',
      SPOOL_DETAIL: message.detail,
      SPOOL_TITLE: message.title,
      SPOOL_TEXT: message.text,
    },
    tag,
    logFile: null,
    timeoutMs: maxMs,
    stopGraceMs: 1000,
    stopSignals: { stop, kill: stop },
    redactor,
  });
  const written = copies?.remove() ?? [];
  if (written.length > 0)
    reporter.warn(
      `spool: notify wrote ${visible(written.join(', '))} to a temporary folder, which was deleted. With --sandbox, let it write to an absolute path outside the project.`,
    );
  const { outcome, tail: output } = result;
  if (outcome === 'passed') return { problem: null, output };
  return {
    problem: outcome === 'failed' ? describeEnd(result) : outcome === 'timed-out' ? 'timed out' : outcome,
    output,
    hint: copies === null ? '' : `. With --sandbox it runs in a temporary folder with ${copies.description}`,
  };
};

/**
 * An agent in a sandbox may have put a program, or a file that a program loads, into a folder that a variable names:
 * `PATH`, `PYTHONPATH`, `NODE_OPTIONS`.
 */
const environmentOf = ({ project, plan, env }: Pick<NotifyContext, 'project' | 'plan' | 'env'>): NodeJS.ProcessEnv => {
  const allowed = allowedEnvironment(env);
  if (!plan.sandbox) return allowed;
  const writable = writableAround(project.root);
  const leadsBack = (value = '') => writable.some((folder) => containsPath(value, folder));
  const variables = Object.entries(outsideEnvironment(allowed, project.root));
  return Object.fromEntries(variables.filter(([name, value]) => /^(?:HOME|PATH)$/.test(name) || !leadsBack(value)));
};

interface Copies {
  readonly cwd: string;
  /** For example `copies of tools/tell.sh`. */
  readonly description: string;
  /** Deletes the folder. Returns the files that were added. */
  remove(): readonly string[];
}

/** The path of the project is repeated in the folder, so that paths with `..` work. */
const copyFiles = ({ project, env }: NotifyContext, files: CommandFiles): Copies => {
  const folder = newPrivateFolder(env);
  const cwd = join(folder, realPath(project.root));
  createFolder(cwd);
  copyCommandFiles(project, files, cwd);
  const before = new Set(filesBelow(cwd));
  const names = [...before].map(visible).join(', ');
  return {
    cwd,
    description: before.size === 0 ? 'no files' : `copies of the files that it names: ${names}`,
    remove: () => {
      const added = filesBelow(cwd).filter((name) => !before.has(name) && !name.includes('__pycache__/'));
      removeSafely(folder);
      return added;
    },
  };
};

const unclearIn = ({ before }: Running, now: CommandFiles): string[] => [
  ...new Set([...before.unclear, ...now.unclear]),
];

const whyRefused = (command: string, context: Running, now: CommandFiles): string | null => {
  const { project, plan, trusted, before, sinceMs } = context;
  const untrusted = trusted.changedScripts(plan.change, 'notify');
  const changed = [...new Set([...untrusted, ...changedBetween(before.hashes, now.hashes)])];
  if (changed.length > 0) {
    const advice = untrusted.length > 0 ? ' Trust it with "spool trust".' : '';
    const [names, were] = [changed.map(visible).join(', '), changed.length === 1 ? 'was' : 'were'];
    return `${names} ${were} changed during the run.${advice}`;
  }
  const unclear = unclearIn(context, now);
  if (!plan.sandbox || unclear.length === 0) return null;
  const folders = [project.root, ...untrustedAround(project.root), ...before.folders, ...now.folders];
  // The repository may have changed without a change to the work tree.
  if (!/\bgit\b/.test(command) && !isWrittenSince(project, folders, sinceMs)) return null;
  return `it runs outside the sandbox, Spool cannot see all files that it runs (${visible(unclear.join(', '))}), and files that agents can write were changed during the run.`;
};
