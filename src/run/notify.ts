import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemProblem } from '../errors.ts';
import { outsideEnvironment } from '../git/program.ts';
import { runShell } from '../process/shell.ts';
import { passed } from '../process/scope.ts';
import { publicView, type RunView } from '../ralph/view.ts';
import { visible } from '../text/visible.ts';
import { changedRunning, isWrittenSince, type Running, runningOf } from '../trust/running.ts';
import type { RunContext } from './context.ts';

const longestMs = 30_000;

/** Runs the notify command. A failure is reported and changes nothing. */
export type Notify = (view: RunView) => Promise<void>;

type NotifyContext = Pick<
  RunContext,
  'project' | 'options' | 'plan' | 'env' | 'reporter' | 'folder' | 'stopSignals' | 'redactor' | 'trusted'
>;

/**
 * Called before an agent works. The command runs outside of the sandbox, so the agent must not choose what it does: it is
 * not run when one of its files has changed since, or any file where not all of its files are known.
 */
export const createNotify = (context: NotifyContext): Notify => {
  const { project, options } = context;
  const command = options.notify;
  if (command === null) return async () => {};
  const before = runningOf(project, command, { all: context.plan.sandbox });
  const sinceMs = Date.now();
  return async (view) => notify(command, { ...context, view, before, sinceMs });
};

interface Notifying extends NotifyContext {
  readonly view: RunView;
  readonly before: Running;
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
      // In a sandbox, an agent can have put a program of the project in the place of one that the command names.
      ...(plan.sandbox ? outsideEnvironment(passed(env), project.root) : passed(env)),
      SPOOL_CHANGE: view.change,
      SPOOL_STATUS: view.status,
      SPOOL_CAUSE: view.cause ?? '',
      SPOOL_DETAIL: view.detail ?? '',
    },
    tag: `${plan.run}/notify`,
    logFile: existsSync(folder) ? join(folder, 'notify.log') : null,
    timeoutMs: longestMs,
    stopGraceMs: 1000,
    // Also after Ctrl-C, unless it is pressed twice.
    stopSignals: { stop: stopSignals.kill, kill: stopSignals.kill },
    redactor,
  }).catch((error: unknown) => ({ outcome: systemProblem(error), exitCode: null }));
  if (result.outcome === 'passed') return;
  const why = result.outcome === 'failed' ? `exit code ${result.exitCode}` : result.outcome;
  reporter.warn(`spool: the command of --notify did not work (${why}); see ${join(folder, 'notify.log')}`);
};

const whyRefused = (command: string, { project, plan, trusted, view, before, sinceMs }: Notifying): string | null => {
  const untrusted = trusted.changedScripts(view.change, 'notify');
  const now = runningOf(project, command, { all: plan.sandbox });
  const changed = [...new Set([...untrusted, ...changedRunning(before.hashes, now.hashes)])];
  if (changed.length > 0) {
    const advice = untrusted.length > 0 ? ' Trust it with "spool trust".' : '';
    const [names, were] = [changed.map(visible).join(', '), changed.length === 1 ? 'was' : 'were'];
    return `${names} ${were} changed during the run.${advice}`;
  }
  const unclear = [...new Set([...before.unclear, ...now.unclear])];
  if (!plan.sandbox || unclear.length === 0) return null;
  // What git has may have changed without a file of the work tree.
  if (!/\bgit\b/.test(command) && !isWrittenSince(project, sinceMs)) return null;
  return `it runs outside the sandbox, Spool cannot see all files that it runs (${visible(unclear.join(', '))}), and files of the project were changed during the run.`;
};
