import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The folder for trust and records, which no project and no sandboxed agent can write to. */
export const userFolder = (env: NodeJS.ProcessEnv): string => join(stateHome(env), 'spool');

/** The folder for clones of workers, in which agents work. Unlike the other one, it is not hidden in a sandbox. */
export const dataFolder = (env: NodeJS.ProcessEnv): string => {
  const { XDG_DATA_HOME: given, LOCALAPPDATA: local } = env;
  if (given !== undefined && isAbsolute(given)) return join(given, 'spool');
  if (process.platform === 'win32' && local) return join(local, 'spool-data');
  return join(homeOf(env), '.local', 'share', 'spool');
};

const stateHome = (env: NodeJS.ProcessEnv): string => {
  const { XDG_STATE_HOME: given, LOCALAPPDATA: local } = env;
  if (given !== undefined && isAbsolute(given)) return given;
  if (process.platform === 'win32' && local) return local;
  return join(homeOf(env), '.local', 'state');
};

/** Returns the home folder in an environment. Without HOME it is the one in the user database of the system. */
export const homeOf = (env: NodeJS.ProcessEnv): string => {
  const given = env.HOME || (process.platform === 'win32' ? env.USERPROFILE : undefined);
  return given || (currentUser()?.homedir ?? '/');
};

/** Returns null for a process of a user that the system does not list. */
export const currentUser = (): { readonly username: string; readonly homedir: string } | null => {
  try {
    return userInfo();
  } catch {
    return null;
  }
};
