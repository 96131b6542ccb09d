import { currentScope } from '../../process/scope.ts';
import { trustedProgram, untrustedAround, withTrustedPath } from '../../process/trusted-path.ts';

/** Returns the path of git, never one that an agent could have put on PATH. */
export const gitProgram = (cwd: string): string => {
  const { env } = currentScope();
  const path = env.PATH ?? '';
  const key = `${cwd}\0${path}\0${env.HOME}`;
  // Not a valid command: running it fails as if git were not installed.
  const found = programs.get(key) ?? trustedProgram('git', path, writableFrom(cwd)) ?? 'git outside of the project';
  programs.set(key, found);
  return found;
};

/** Per process: the result depends only on the key and `distrusted`. */
const programs = new Map<string, string>();

/**
 * Returns the environment for a command outside of a sandbox: folders that agents can write to are removed from PATH.
 */
export const outsideEnvironment = (env: NodeJS.ProcessEnv, cwd: string): NodeJS.ProcessEnv => {
  if (env.PATH === undefined) return env;
  // Computed once for all git commands: agents cannot change what is trusted.
  const key = `${cwd}\0${env.PATH}\0${currentScope().env.HOME}`;
  const PATH = paths.get(key) ?? withTrustedPath(env, writableFrom(cwd)).PATH!;
  paths.set(key, PATH);
  return { ...env, PATH };
};

/** Per process, like `programs`. */
const paths = new Map<string, string>();

/** Returns the folders that agents can write to. */
export const writableFrom = (cwd: string): string[] => [...untrustedAround(cwd), ...distrusted];

/** Per process: no run may use a git from where the agent of another run can write. */
const distrusted = new Set<string>();

/** From now on, git and its programs are not looked up in these folders, which agents can write to. */
export const distrust = (folders: readonly string[]): void => {
  for (const folder of folders) distrusted.add(folder);
  programs.clear();
  paths.clear();
};
