import { spawn } from '@lydell/node-pty';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { eventually } from './eventually.ts';
import { spoolProgram, type TestProject } from './project.ts';
import { createScreen } from './screen.ts';

const rows = 30;

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

/** Runs Spool in a pseudo-terminal. */
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
    /** All output so far, without control sequences. */
    screen: () => screen,
    /** All output so far, unchanged. */
    raw: () => raw,
    /** The current content of the screen. */
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
