import { existsSync } from 'node:fs';
import { systemProblem } from '../errors.ts';
import { outsideEnvironment } from '../git/call/program.ts';
import { runShell } from '../process/shell.ts';
import { allowedEnvironment } from '../process/scope.ts';
import { publicView, type RunView } from '../ralph/view.ts';
import { visible } from '../text/visible.ts';
import { changedBetween, isWrittenSince, type CommandFiles, commandFilesOf } from '../trust/command-files.ts';
import type { RunContext } from './context.ts';
import { notifyLog } from '../store/paths.ts';

const longestMs = 30_000;

/** Runs the notify command. A failure is reported and changes nothing. */
export type Notify = (view: RunView) => Promise<void>;

type NotifyContext = Pick<
  RunContext,
  'project' | 'options' | 'plan' | 'env' | 'reporter' | 'folder' | 'stopSignals' | 'redactor' | 'trusted'
>;

/**
 * Called before an agent starts. The command runs outside the sandbox, so an agent must not be able to change what it
 * does. It is not run if one of its files has changed since, or, if not all of its files are known, any file.
 */
export const createNotify = (context: NotifyContext): Notify => {
  const { project, options } = context;
  const command = options.notify;
  if (command === null) return async () => {};
  const before = commandFilesOf(project, command, { all: context.plan.sandbox });
  const sinceMs = Date.now();
  return async (view) => notify(command, { ...context, view, before, sinceMs });
};

interface Notifying extends NotifyContext {
  readonly view: RunView;
  readonly before: CommandFiles;
  readonly sinceMs: number;
}

const notify = async (command: string, context: Notifying): Promise<void> => {
  const { project, env, reporter, plan, folder, stopSignals, redactor } = context;
  const view = publicView(context.view, redactor.data);
  const refusal = whyRefused(command, context);
  if (refusal !== null) return reporter.warn(`spool: notify was not run: ${refusal}`);
  const result = await runShell({
    command,
    input: `${JSON.stringify(view)}\n`,
    cwd: project.root,
    env: {
      // A sandboxed agent may have put a program in the project that shadows one that the command uses.
      ...(plan.sandbox ? outsideEnvironment(allowedEnvironment(env), project.root) : allowedEnvironment(env)),
      SPOOL_CHANGE: view.change,
      SPOOL_STATUS: view.status,
      SPOOL_CAUSE: view.cause ?? '',
      SPOOL_DETAIL: view.detail ?? '',
    },
    tag: `${plan.run}/notify`,
    logFile: existsSync(folder) ? notifyLog(folder) : null,
    timeoutMs: longestMs,
    stopGraceMs: 1000,
    // Runs even after Ctrl-C, unless it is pressed twice.
    stopSignals: { stop: stopSignals.kill, kill: stopSignals.kill },
    redactor,
  }).catch((error: unknown) => ({ outcome: systemProblem(error), exitCode: null }));
  if (result.outcome === 'passed') return;
  const why = result.outcome === 'failed' ? `exit code ${result.exitCode}` : result.outcome;
  reporter.warn(`spool: the --notify command failed (${why}); see ${notifyLog(folder)}`);
};

const whyRefused = (command: string, { project, plan, trusted, view, before, sinceMs }: Notifying): string | null => {
  const untrusted = trusted.changedScripts(view.change, 'notify');
  const now = commandFilesOf(project, command, { all: plan.sandbox });
  const changed = [...new Set([...untrusted, ...changedBetween(before.hashes, now.hashes)])];
  if (changed.length > 0) {
    const advice = untrusted.length > 0 ? ' Trust it with "spool trust".' : '';
    const [names, were] = [changed.map(visible).join(', '), changed.length === 1 ? 'was' : 'were'];
    return `${names} ${were} changed during the run.${advice}`;
  }
  const unclear = [...new Set([...before.unclear, ...now.unclear])];
  if (!plan.sandbox || unclear.length === 0) return null;
  // The repository may have changed without a change to the work tree.
  if (!/\bgit\b/.test(command) && !isWrittenSince(project, sinceMs)) return null;
  return `it runs outside the sandbox, Spool cannot see all files that it runs (${visible(unclear.join(', '))}), and files of the project were changed during the run.`;
};
