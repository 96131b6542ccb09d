import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemProblem } from '../../errors.ts';
import { runShell } from '../../harness/shell.ts';
import { passed } from '../../passed-environment.ts';
import { publicView, type RunView } from '../../ralph/view.ts';
import { visible } from '../../report/trust.ts';
import type { WorldParts } from './parts.ts';

const longestMs = 30_000;

/** Tells whoever asked to be told that the run has ended. That it cannot is said, and changes nothing. */
export const notify = async (command: string, parts: WorldParts & { view: RunView }): Promise<void> => {
  const { project, call, plan, folder, stops, redactor, trusted } = parts;
  const view = publicView(parts.view, redactor.data);
  // It runs outside of whatever confines the agent, which must not choose what that is.
  const changed = trusted.changedScripts(view.change, 'notify');
  if (changed.length > 0) {
    const names = changed.map(visible).join(', ');
    call.terminal.say(`spool: notify was not run: ${names} was changed during the run. Trust it with "spool trust".\n`);
    return;
  }
  const result = await runShell({
    command,
    input: `${JSON.stringify(view)}\n`,
    cwd: project.root,
    env: {
      ...passed(call.env),
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
  call.terminal.say(`spool: the command of --notify did not work (${why}); see ${join(folder, 'notify.log')}\n`);
};
