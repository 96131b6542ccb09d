import type { SentRun } from '../../report/proof/report.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { queueOf } from './queue-url.ts';

/** The run that workers have of the change that a command names; null without a queue, or if this checkout knows more. */
export const findSentRun = async (
  invocation: Invocation,
  project: Project,
): Promise<{ readonly change: string; readonly sent: SentRun } | null> => {
  const queue = await queueOf(invocation, project);
  if (queue === null) return null;
  const { readSentRun } = await import('./queued-proof.ts');
  return readSentRun(queue, invocation.args[0]!, { ...invocation, project });
};
