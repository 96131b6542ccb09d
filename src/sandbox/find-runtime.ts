import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createTrustCheck, trustedPath } from '../process/trusted-path.ts';
import { parseJsonText } from '../text/json.ts';
import { onPath, realPath } from '../process/which.ts';

/** The installed sandbox runtime. */
export interface InstalledRuntime {
  /** The file to import. */
  readonly library: string;
  readonly version: string;
  /** The folder of its package. */
  readonly folder: string;
  /** Paths of the programs that it runs, by name; empty on macOS. */
  readonly tools: Readonly<Record<string, string>>;
}

/** Why there is no sandbox, and what to do. */
export interface Unusable {
  readonly why: string;
  readonly fix: string;
}

const packageName = '@anthropic-ai/sandbox-runtime';
const linuxTools = { bwrap: 'bubblewrap', socat: 'socat', rg: 'ripgrep' };

/**
 * Finds the sandbox runtime, or what is missing. Ignores everything below `untrusted`: an agent of an earlier run may
 * have put it there.
 */
export const findRuntime = (env: NodeJS.ProcessEnv, untrusted: readonly string[]): InstalledRuntime | Unusable => {
  if (process.platform !== 'linux' && process.platform !== 'darwin')
    return { why: 'not supported on this system', fix: 'Use Linux, WSL 2 or macOS.' };
  const path = trustedPath(env.PATH ?? '', untrusted);
  const found = libraryOf(path, untrusted);
  if (found === null) {
    const elsewhere = libraryOf(env.PATH ?? '', []);
    const why = elsewhere === null ? 'not installed' : `only in ${elsewhere.folder}, where agents can write`;
    return { why: `${packageName} is ${why}`, fix: `Install it with: npm install -g ${packageName}` };
  }
  if (process.platform === 'darwin') return { ...found, tools: {} };
  const tools = Object.keys(linuxTools).map((name) => [name, onPath(name, path)] as const);
  const missing = tools.flatMap(([name, file]) => (file === null ? [linuxTools[name as keyof typeof linuxTools]] : []));
  if (missing.length > 0)
    return {
      why: `not installed: ${missing.join(', ')}`,
      fix: `Install with: apt-get install ${missing.join(' ')} (or with the package manager of your system)`,
    };
  return { ...found, tools: Object.fromEntries(tools) as Record<string, string> };
};

/** Looks for the package of the command `srt` on PATH, then next to Spool. */
const libraryOf = (path: string, untrusted: readonly string[]): Omit<InstalledRuntime, 'tools'> | null => {
  const command = onPath('srt', path);
  const candidates = [...(command === null ? [] : [realPath(command)]), ...resolvedPackage()];
  const isTrusted = createTrustCheck(untrusted);
  for (const start of candidates) {
    const found = isTrusted(start) ? packageAround(start) : null;
    if (found !== null) return found;
  }
  return null;
};

const resolvedPackage = (): string[] => {
  try {
    return [createRequire(import.meta.url).resolve(packageName)];
  } catch {
    return [];
  }
};

const packageAround = (file: string): Omit<InstalledRuntime, 'tools'> | null => {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const { name, version = '', main = 'dist/index.js' } = readManifest(folder);
    if (name === packageName) return { folder, version, library: join(folder, main) };
  }
  return null;
};

const readManifest = (folder: string): { name?: string; version?: string; main?: string } => {
  try {
    return Object(parseJsonText(readFileSync(join(folder, 'package.json'), 'utf8'))) as { name?: string };
  } catch {
    return {};
  }
};
