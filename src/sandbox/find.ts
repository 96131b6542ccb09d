import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createTrustCheck, trustedPath } from '../git/call/program.ts';
import { parseJsonText } from '../text/json.ts';
import { onPath, realPath } from '../process/which.ts';

/** The sandbox that is installed. */
export interface Runtime {
  /** The file to import. */
  readonly library: string;
  readonly version: string;
  /** The folder of its package. */
  readonly folder: string;
  /** The programs that it runs, by name; none on macOS. */
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
 * What there is to build a sandbox with, or what is missing. Nothing below `untrusted` counts: an agent of an earlier
 * run may have put it there.
 */
export const findRuntime = (env: NodeJS.ProcessEnv, untrusted: readonly string[]): Runtime | Unusable => {
  if (process.platform !== 'linux' && process.platform !== 'darwin')
    return { why: 'there is none for this system', fix: 'Use Linux, WSL 2 or macOS.' };
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
      fix: `Install with: apt-get install ${missing.join(' ')} (or what your system has for that)`,
    };
  return { ...found, tools: Object.fromEntries(tools) as Record<string, string> };
};

/** Next to Spool, or where its command `srt` on PATH belongs to. */
const libraryOf = (path: string, untrusted: readonly string[]): Omit<Runtime, 'tools'> | null => {
  const command = onPath('srt', path);
  const starts = [...(command === null ? [] : [realPath(command)]), ...resolved()];
  const isTrusted = createTrustCheck(untrusted);
  for (const start of starts) {
    const found = isTrusted(start) ? packageAround(start) : null;
    if (found !== null) return found;
  }
  return null;
};

const resolved = (): string[] => {
  try {
    return [createRequire(import.meta.url).resolve(packageName)];
  } catch {
    return [];
  }
};

const packageAround = (file: string): Omit<Runtime, 'tools'> | null => {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const { name, version = '', main = 'dist/index.js' } = manifestIn(folder);
    if (name === packageName) return { folder, version, library: join(folder, main) };
  }
  return null;
};

const manifestIn = (folder: string): { name?: string; version?: string; main?: string } => {
  try {
    return Object(parseJsonText(readFileSync(join(folder, 'package.json'), 'utf8'))) as { name?: string };
  } catch {
    return {};
  }
};
