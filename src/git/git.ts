import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer, text } from 'node:stream/consumers';

export interface GitResult {
  readonly code: number;
  /** latin1 keeps every byte, so that file names of any encoding go through git and back unharmed. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface GitCall {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
}

const windows = process.platform === 'win32';

/**
 * Runs one git command. What git answers, also that there is no git, is a value.
 * It has a group of its own, so that Ctrl-C does not cut a commit short.
 */
export const git = async (args: readonly string[], { cwd, env = {}, input = '' }: GitCall): Promise<GitResult> => {
  const child = spawn('git', args, { cwd, env: { ...quietEnvironment(), ...env }, stdio: 'pipe', detached: !windows });
  const closed = once(child, 'close').catch((error: Error) => error);
  child.stdin.on('error', () => {});
  child.stdin.end(input, 'latin1');
  const [stdout, stderr, end] = await Promise.all([buffer(child.stdout), text(child.stderr), closed]);
  if (end instanceof Error) return { code: -1, stdout: '', stderr: end.message };
  return { code: (end[0] as number | null) ?? -1, stdout: stdout.toString('latin1'), stderr: stderr.trim() };
};

/** The text of a name that git gave; only for showing it, as bytes that are not UTF-8 are lost. */
export const readable = (name: string): string => Buffer.from(name, 'latin1').toString('utf8');

export const splitNames = (output: string): string[] => output.split('\0').filter((name) => name !== '');

/** git must never ask or open an editor, names are taken literally, and no repository of a surrounding git is meant. */
const quietEnvironment = (): NodeJS.ProcessEnv => {
  const env = { ...process.env };
  for (const name of ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX']) delete env[name];
  return {
    ...env,
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'true',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    LC_ALL: 'C',
  };
};
