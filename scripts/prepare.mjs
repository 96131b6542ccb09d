// Installs what is missing or out of date, then builds. Quick when there is nothing to do.
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runNpm } from './npm.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const installed = `${root}/node_modules/.package-lock.json`;
const upToDate = existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${root}/package-lock.json`).mtimeMs;

if (!upToDate) {
  process.stderr.write('Installing dependencies, OpenCode among them. The first time takes a minute.\n');
  runNpm(['ci', '--no-audit', '--no-fund', '--loglevel=error'], root);
}
await import('./build.mjs');
