import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Where Spool keeps what no project and no agent in a sandbox can write: what the user trusts, and what Spool has written. */
export const userFolder = (env: NodeJS.ProcessEnv): string => join(stateHome(env), 'spool');

const stateHome = (env: NodeJS.ProcessEnv): string => {
  const { XDG_STATE_HOME: given, LOCALAPPDATA: local, HOME: home } = env;
  if (given !== undefined && isAbsolute(given)) return given;
  if (process.platform === 'win32' && local) return local;
  return join(home || homedir(), '.local', 'state');
};
