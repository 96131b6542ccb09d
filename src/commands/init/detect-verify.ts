import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readRegular } from '../../files/regular.ts';
import { isObject, parseJson } from '../../text/shape.ts';

export interface DetectedCheck {
  readonly command: string;
  /** The file that shows it. */
  readonly from: string;
}

/** Finds the commands that test a project, the most likely one first. Runs nothing. */
export const detectVerify = (root: string): DetectedCheck[] => {
  const read = (name: string) => readIfPossible(join(root, name));
  return detectors.flatMap((detect) => detect(read, (name) => existsSync(join(root, name))) ?? []);
};

/** What cannot be read shows nothing. */
const readIfPossible = (path: string): string | null => {
  try {
    return readRegular(path, { limit: maxBytes })?.toString('utf8') ?? null;
  } catch {
    return null;
  }
};

/** Larger files are not looked at. */
const maxBytes = 1024 * 1024;

type Detector = (read: (name: string) => string | null, exists: (name: string) => boolean) => DetectedCheck | null;

const packageScript: Detector = (read, exists) => {
  const manifest = parseJson(read('package.json') ?? '');
  const scripts = isObject(manifest) && isObject(manifest.scripts) ? manifest.scripts : {};
  const { test } = scripts;
  if (typeof test !== 'string' || test.trim() === '' || test.includes(npmPlaceholder)) return null;
  const [, manager] = lockfiles.find(([name]) => exists(name)) ?? [null, 'npm test'];
  return { command: manager, from: 'package.json' };
};

/** What `npm init` writes for a package without tests. */
const npmPlaceholder = 'no test specified';

const lockfiles = [
  ['pnpm-lock.yaml', 'pnpm test'],
  ['yarn.lock', 'yarn test'],
  ['bun.lock', 'bun run test'],
  ['bun.lockb', 'bun run test'],
] as const;

const cargo: Detector = (_, exists) => (exists('Cargo.toml') ? { command: 'cargo test', from: 'Cargo.toml' } : null);

const pytest: Detector = (read, exists) => {
  const settings: readonly (readonly [string, RegExp])[] = [
    ['pyproject.toml', /^\[tool\.pytest\b|^[^#\n]{0,200}\bpytest\b/m],
    ['setup.cfg', /^\[tool:pytest\]/m],
    ['tox.ini', /^\[pytest\]/m],
  ];
  const from =
    ['pytest.ini', 'conftest.py', 'tests/conftest.py'].find(exists) ??
    settings.find(([name, pattern]) => pattern.test(read(name) ?? ''))?.[0];
  return from === undefined ? null : { command: 'pytest', from };
};

const go: Detector = (_, exists) => (exists('go.mod') ? { command: 'go test ./...', from: 'go.mod' } : null);

const make: Detector = (read) => {
  const from = ['GNUmakefile', 'makefile', 'Makefile'].find((name) => /^test[ \t]*::?(?!=)/m.test(read(name) ?? ''));
  return from === undefined ? null : { command: 'make test', from };
};

const detectors: readonly Detector[] = [packageScript, cargo, pytest, go, make];
