import { configName, readConfig } from '../../config/file.ts';
import { say } from '../../report/message.ts';
import type { Project } from '../../store/project.ts';
import { checkTrust, pinsIn, trustVariable } from '../../trust/check.ts';
import { hashOfAll, settingsOf, sourceOf } from '../../trust/settings.ts';
import { readTrusted } from '../../trust/store.ts';
import type { Invocation } from '../registry/command.ts';

/** The queue that config.json names, if the user trusts it: a clone could name someone else's server. */
export const trustedQueue = async (
  { env, terminal }: Pick<Invocation, 'env' | 'terminal'>,
  project: Project,
): Promise<string | null> => {
  const config = await readConfig(project);
  if (config.queue === null) return null;
  const settings = settingsOf(project, config);
  const pins = pinsIn(env[trustVariable]);
  const isPinned = pins === 'everything' || pins.includes(hashOfAll(settings));
  const [checked] = checkTrust(
    settings.filter(({ source }) => source === sourceOf('queue')),
    readTrusted(env, project),
  );
  if (isPinned || checked?.since) return config.queue;
  say(
    terminal,
    `The queue in ${configName(project)} is ignored until you trust it (${config.queue}). Review it with: spool trust`,
  );
  return null;
};
