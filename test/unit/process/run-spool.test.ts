import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runSpool } from '../../../src/process/run-spool.ts';
import { eventually } from '../../support/eventually.ts';

/** Stands for Spool: starts a program that would run for long, as a landing starts verify commands. */
const program = `
  const { spawn } = require('node:child_process');
  const child = spawn('sleep', ['600'], { stdio: 'inherit' });
  require('node:fs').writeFileSync(process.argv[2], String(child.pid));
  console.log('started');
  process.on('SIGTERM', () => { console.log('ended in order'); process.exit(143); });
  setInterval(() => {}, 1000); // Otherwise it may end with its child, before it sees the signal.
`;

const [, own] = process.argv;
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spool-own-'));
  process.argv[1] = join(folder, 'program.cjs');
  writeFileSync(process.argv[1], program);
});
afterEach(() => {
  process.argv[1] = own!;
  rmSync(folder, { recursive: true });
});

const isAlive = (pid: number): boolean => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

const start = (timeoutMs: number, stop = new AbortController()) => {
  const file = join(folder, 'pid');
  const result = runSpool({ args: [file], cwd: folder, env: process.env, timeoutMs, stop: stop.signal });
  /** 0 if it had no time to start any. */
  return { result, pid: () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0) };
};

test.skipIf(process.platform !== 'linux')(
  'a program that takes too long is ended with all that it has started',
  async () => {
    const { result, pid } = start(1500);

    const { isTimedOut, exitCode } = await result;
    expect(isTimedOut).toBe(true);
    expect(exitCode).not.toBe(0);
    await eventually(() => !isAlive(pid()), 'the end of what it has started');
  },
);

test.skipIf(process.platform !== 'linux')('so is one that is stopped', async () => {
  const stop = new AbortController();
  const { result, pid } = start(600_000, stop);
  await eventually(() => isAlive(pid()), 'the start of the program');
  stop.abort();

  expect(await result).toMatchObject({ isTimedOut: false });
  await eventually(() => !isAlive(pid()), 'the end of what it has started');
});
