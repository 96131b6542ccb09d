// A queue with one worker, for the pages about many machines: started once, for all of them.
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const spool = fileURLToPath(new URL('../../dist/spool.cjs', import.meta.url));

/** @typedef {import('./scenes.mjs').Project} Project */

/**
 * A program in the background, whose output is kept.
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
const start = (args, options) => {
  const child = spawn(process.execPath, [spool, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  /** @type {Set<() => void>} */
  const waiting = new Set();
  const take = (/** @type {string} */ text) => {
    output += text;
    for (const check of waiting) check();
  };
  child.stdout?.setEncoding('utf8').on('data', take);
  child.stderr?.setEncoding('utf8').on('data', take);
  const closed = new Promise((resolve) => child.once('close', resolve));
  /** Resolves to what it has printed, when that matches. @param {RegExp} pattern @returns {Promise<string>} */
  const prints = (pattern) =>
    new Promise((resolve, reject) => {
      const check = () => {
        if (!pattern.test(output)) return;
        waiting.delete(check);
        resolve(output);
      };
      waiting.add(check);
      void closed.then(() => reject(new Error(`spool ${args.join(' ')} has ended:\n${output}`)));
      check();
    });
  const stop = async () => {
    child.kill('SIGTERM');
    await closed;
  };
  return { prints, closed, stop, text: () => output };
};
