import { spawn } from '@lydell/node-pty';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { eventually } from './eventually.ts';
import { spoolProgram, type TestProject } from './project.ts';
import { createScreen } from './screen.ts';

const rows = 30;

/** Runs a script in a shell that is the owner of a real pseudo-terminal. Closing that ends the shell, and all in its foreground hear of it. */
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

/** Runs Spool in a real pseudo-terminal. */
export const openTerminal = (project: TestProject, args: readonly string[], columns = 100) => {
  const pty = spawn(process.execPath, [spoolProgram, ...args], {
    cwd: project.folder,
    env: { ...project.env, TERM: 'xterm-256color' },
    cols: columns,
    rows,
  });
  const picture = createScreen(columns);
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
    /** All that was shown so far, without colours and cursor movements. */
    screen: () => screen,
    /** All that was sent to it, as it was sent. */
    raw: () => raw,
    /** What stands there now. */
    lines: picture.lines,
    resize: (to: number) => {
      pty.resize(to, rows);
      picture.resize(to);
    },
    shows: (text: string) =>
      eventually(() => screen.includes(text), `"${text}" on the screen`).catch((error: Error) => {
        throw new Error(`${error.message}; the screen shows: ${screen}`);
      }),
    exitCode,
  };
};
