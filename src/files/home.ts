import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The folder for trust and records, which no project and no sandboxed agent can write to. */
export const userFolder = (env: NodeJS.ProcessEnv): string => join(stateHome(env), 'spool');

/** The folder for clones of workers, in which agents work. Unlike the other one, it is not hidden in a sandbox. */
export const dataFolder = (env: NodeJS.ProcessEnv): string => {
  const { XDG_DATA_HOME: given, LOCALAPPDATA: local, HOME: home } = env;
  if (given !== undefined && isAbsolute(given)) return join(given, 'spool');
  if (process.platform === 'win32' && local) return join(local, 'spool-data');
  return join(home || homedir(), '.local', 'share', 'spool');
};

const stateHome = (env: NodeJS.ProcessEnv): string => {
  const { XDG_STATE_HOME: given, LOCALAPPDATA: local, HOME: home } = env;
  if (given !== undefined && isAbsolute(given)) return given;
  if (process.platform === 'win32' && local) return local;
  return join(home || homedir(), '.local', 'state');
};
