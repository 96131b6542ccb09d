import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemProblem } from '../errors.ts';
import { runShell } from '../process/shell.ts';
import { passed } from '../process/passed-environment.ts';
import { publicView, type RunView } from '../ralph/view.ts';
import { visible } from '../text/visible.ts';
import type { WorldParts } from './context.ts';

const longestMs = 30_000;

/** Tells whoever asked to be told that the run has ended. That it cannot is said, and changes nothing. */
export const notify = async (command: string, parts: WorldParts & { view: RunView }): Promise<void> => {
  const { project, env, reporter, plan, folder, stops, redactor, trusted } = parts;
  const view = publicView(parts.view, redactor.data);
  // It runs outside of whatever confines the agent, which must not choose what that is.
  const changed = trusted.changedScripts(view.change, 'notify');
  if (changed.length > 0) {
    const names = changed.map(visible).join(', ');
    reporter.warn(`spool: notify was not run: ${names} was changed during the run. Trust it with "spool trust".`);
    return;
  }
  const result = await runShell({
    command,
    input: `${JSON.stringify(view)}\n`,
    cwd: project.root,
    env: {
      ...passed(env),
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
    stops: { stop: stops.kill, kill: stops.kill },
    redactor,
  }).catch((error: unknown) => ({ outcome: systemProblem(error), exitCode: null }));
  if (result.outcome === 'passed') return;
  const why = result.outcome === 'failed' ? `exit code ${result.exitCode}` : result.outcome;
  reporter.warn(`spool: the command of --notify did not work (${why}); see ${join(folder, 'notify.log')}`);
};
