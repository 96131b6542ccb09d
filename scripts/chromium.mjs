// The browser of the tests, the screenshots and the benchmark.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The Chromium of a package, unpacked once; null where the package has none. It is built for Linux on x64.
 * @returns {string | null}
 */
const unpacked = () => {
  const folder = join(root, 'node_modules', '@sparticuz', 'chromium');
  const hasBinary =
    process.platform === 'linux' && process.arch === 'x64' && existsSync(join(folder, 'bin', 'chromium.br'));
  if (!hasBinary) return null;
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const cache = join(root, 'node_modules', '.cache', `chromium-${version}`);
  if (!existsSync(cache)) {
    const part = `${cache}.${process.pid}`;
    mkdirSync(part, { recursive: true });
    // The package unpacks to the folder for temporary files, and asks for it when it is loaded.
    const script = "import('@sparticuz/chromium').then(({ default: chromium }) => chromium.executablePath())";
    execFileSync(process.execPath, ['-e', script], { cwd: root, env: { ...process.env, TMPDIR: part } });
    try {
      renameSync(part, cache);
    } catch {
      // Another process was faster.
      rmSync(part, { recursive: true });
    }
  }
  return join(cache, 'chromium');
};

/** How playwright starts it: the one of the package, or an installed Chrome. */
export const launchOptions = () => {
  const executablePath = unpacked();
  // As superuser, Chromium runs without its own sandbox. It only opens pages of Spool.
  const args = ['--disable-gpu', '--font-render-hinting=none', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];
  return executablePath === null ? { channel: 'chrome', args } : { executablePath, args };
};
