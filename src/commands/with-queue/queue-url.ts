import { readText } from '../../files/read.ts';
import { configFile } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';

type QueueRequest = Pick<Invocation, 'rawFlags' | 'env' | 'terminal'>;

/**
 * The address of the queue: --queue, SPOOL_QUEUE, or that of config.json if the user trusts it; null without one. Loads
 * nothing else unless config.json names one.
 */
export const queueOf = async (request: QueueRequest, project: Project | null): Promise<string | null> => {
  const { rawFlags, env } = request;
  const given = (typeof rawFlags.queue === 'string' ? rawFlags.queue : env.SPOOL_QUEUE)?.trim();
  if (given) return given;
  if (project === null || !mentionsQueue(project)) return null;
  const { trustedQueue } = await import('./trusted-queue.ts');
  return trustedQueue(request, project);
};

/** A file that cannot be read is reported by the command that needs it. */
const mentionsQueue = (project: Project): boolean => {
  try {
    return readText(configFile(project))?.includes('"queue"') ?? false;
  } catch {
    return false;
  }
};
