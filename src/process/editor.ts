import { once } from 'node:events';
import { environmentIn } from './environment.ts';
import { spawn } from './spawn.ts';
import { untrustedAround, withTrustedPath } from './trusted-path.ts';

/** Returns the editor of the user, a shell command; null if none is set. */
export const editorOf = ({ VISUAL, EDITOR }: NodeJS.ProcessEnv): string | null =>
  [VISUAL, EDITOR].find((command) => command?.trim()) ?? null;

export interface EditorCall {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Opens a file in an editor on this terminal, and waits for its end. Returns what went wrong, or null. The editor is
 * never a program of the project.
 */
export const openEditor = async (editor: string, file: string, { cwd, env }: EditorCall): Promise<string | null> => {
  const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, editor, file], {
    cwd,
    env: environmentIn(cwd, withTrustedPath(env, untrustedAround(cwd))),
    stdio: ['inherit', 'inherit', 'inherit'],
  });
  // Ctrl-C is for the editor.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code === 0 ? null : code === null ? `ended by ${signal}` : `exit code ${code}`;
  } finally {
    process.off('SIGINT', ignore);
  }
};
