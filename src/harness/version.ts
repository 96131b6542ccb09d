import { mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import spawn from 'cross-spawn';

const patienceMs = 15_000;
const longestAnswer = 64 * 1024;

/** What a binary answers on stdout and stderr; null when it does not answer in time, or cannot be run. */
export const answerOf = (binary: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string | null> =>
  new Promise((resolve) => {
    const child = spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    const said = { stdout: '', stderr: '' };
    for (const source of ['stdout', 'stderr'] as const)
      child[source]?.setEncoding('utf8').on('data', (text: string) => {
        said[source] = (said[source] + text).slice(0, longestAnswer);
      });
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, patienceMs);
    child.on('error', () => resolve(null));
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve(code === null ? null : said.stdout + said.stderr);
    });
  });

/** The first line of what it answers to `--version`. */
export const versionOf = async (binary: string, env: NodeJS.ProcessEnv): Promise<string | null> => {
  const answer = await answerOf(binary, ['--version'], env);
  return answer?.trim().split('\n')[0] || null;
};

/** The same, asked only once for a file: agents take up to a second to say it. */
export const cachedVersion = async (binary: string, env: NodeJS.ProcessEnv): Promise<string | null> => {
  const file = join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'spool', 'versions.json');
  try {
    const path = await realpath(binary);
    const key = `${path} ${(await stat(path)).mtimeMs}`;
    const known = await readFile(file, 'utf8').then(parse, () => parse('{}'));
    const cached = known[key];
    if (typeof cached === 'string') return cached;
    const version = await versionOf(binary, env);
    if (version !== null) await replace(file, JSON.stringify({ ...known, [key]: version }));
    return version;
  } catch {
    // A cache that cannot be used is no reason not to run.
    return versionOf(binary, env);
  }
};

/** Whether the first version in the text is older than the other; false when there is none in it. */
export const isBefore = (text: string | null, other: string): boolean => {
  const version = /\d+\.\d+\.\d+/.exec(text ?? '')?.[0];
  return version !== undefined && version.localeCompare(other, 'en', { numeric: true }) < 0;
};

const parse = (text: string): Record<string, unknown> => {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
};

const replace = async (file: string, text: string): Promise<void> => {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.${process.pid}`, text);
  await rename(`${file}.${process.pid}`, file);
};
