import { spawn } from '@lydell/node-pty';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { eventually } from './eventually.ts';
import { spoolProgram, type TestProject } from './project.ts';
import { createScreen } from './screen.ts';

/** Runs a script in a shell that owns a pseudo-terminal. Closing it ends the shell and signals its foreground processes. */
export const openShell = (project: TestProject, script: string) => {
  const pty = spawn('/bin/sh', ['-c', script], { cwd: project.folder, env: project.env });
  const closed = new Promise<void>((resolve) => pty.onExit(() => resolve()));
  return {
    close: () => {
      pty.kill('SIGHUP');
      return closed;
    },
  };
};

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  /** Variables to add; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A script of a shell with job control, in which `"$@"` is the command that starts Spool. */
  readonly script?: string;
}

/** Runs Spool in a pseudo-terminal. */
export const openTerminal = (
  project: TestProject,
  args: readonly string[],
  { columns = 100, rows = 30, env = {}, script }: TerminalOptions = {},
) => {
  const command = [process.execPath, spoolProgram, ...args];
  const [file = '', ...words] =
    script === undefined ? command : ['/bin/sh', '-c', `set -m; ${script}`, 'sh', ...command];
  const pty = spawn(file, words, {
    cwd: project.folder,
    env: withoutUndefined({ ...project.env, TERM: 'xterm-256color', ...env }),
    cols: columns,
    rows,
  });
  const picture = createScreen(columns, rows);
  let screen = '';
  let raw = '';
  let ended = false;
  pty.onData((data) => {
    raw += data;
    screen += stripVTControlCharacters(data);
    picture.write(data);
  });
  const exitCode = new Promise<number>((resolve) =>
    pty.onExit(({ exitCode: code }) => {
      ended = true;
      resolve(code);
    }),
  );
  onTestFinished(() => {
    if (!ended) pty.kill('SIGKILL');
  });
  return {
    type: (keys: string) => pty.write(keys),
    kill: (signal: NodeJS.Signals) => pty.kill(signal),
    /** All output so far, without control sequences. */
    screen: () => screen,
    /** All output so far, unchanged. */
    raw: () => raw,
    /** The current content of the screen. */
    lines: picture.lines,
    resize: (to: number) => {
      // The terminal has its new size before the program learns of it.
      picture.resize(to);
      pty.resize(to, rows);
    },
    shows: (text: string) =>
      eventually(() => screen.includes(text), `"${text}" on the screen`).catch((error: Error) => {
        throw new Error(`${error.message}; the screen shows: ${screen}`);
      }),
    exitCode,
  };
};

const withoutUndefined = (env: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
