// Installs what is missing or out of date, then builds. Quick when there is nothing to do.
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const installed = `${root}/node_modules/.package-lock.json`;
const upToDate = existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${root}/package-lock.json`).mtimeMs;

if (!upToDate) {
  process.stderr.write('Installing dependencies, the real OpenCode among them; this takes a minute the first time.\n');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  // Not `npm ci`: it insists on packages for every platform in the lock file, also on those that a registry lacks.
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync(npm, args, { cwd: root, stdio: ['ignore', 2, 2] });
}
await import('./build.mjs');
