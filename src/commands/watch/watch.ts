import { onStopSignals } from '../../process/signals.ts';
import { findProject } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { queueOf } from '../with-queue/queue-url.ts';
import { showRuns } from '../runs/show-status.ts';
import { watch } from './session.ts';

/** Shows all runs, with those of workers, and redraws them every second. Without a terminal it prints them once. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { cwd, env, terminal } = invocation;
  const project = findProject(cwd);
  if (!terminal.isInteractive || !terminal.canPrompt) {
    await showRuns({ invocation, project, json: false, all: false });
    return 0;
  }
  const queue = await queueOf(invocation, project);
  const remote = queue === null ? null : await (await import('./remote.ts')).openRemote(queue, { project, env });
  const signals = onStopSignals(() => {});
  terminal.fullScreen('enter');
  try {
    return await watch({ ...invocation, project, remote, stop: signals.stop });
  } finally {
    terminal.fullScreen('leave');
    signals.dispose();
  }
};
