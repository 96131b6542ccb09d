import { execFileSync } from 'node:child_process';
import { basename } from 'node:path';

/**
 * Runs npm to its end; throws when it fails. Node does not start npm.cmd on Windows without a shell, so the npm that runs
 * this script is asked where there is one.
 * @param {string[]} args @param {string} cwd
 */
export const runNpm = (args, cwd) => {
  const cli = process.env.npm_execpath ?? '';
  /** @type {import('node:child_process').ExecFileSyncOptions} */
  const options = { cwd, stdio: ['ignore', 2, 2] };
  if (basename(cli) === 'npm-cli.js') execFileSync(process.execPath, [cli, ...args], options);
  else execFileSync('npm', args, { ...options, shell: process.platform === 'win32' });
};
