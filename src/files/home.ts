import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The folder for trust and records, which no project and no sandboxed agent can write to. */
export const userFolder = (env: NodeJS.ProcessEnv): string => join(stateHome(env), 'spool');

const stateHome = (env: NodeJS.ProcessEnv): string => {
  const { XDG_STATE_HOME: given, LOCALAPPDATA: local, HOME: home } = env;
  if (given !== undefined && isAbsolute(given)) return given;
  if (process.platform === 'win32' && local) return local;
  return join(home || homedir(), '.local', 'state');
};
