import { execFile } from 'node:child_process';

/** What a binary answers to `--version`, in one line; null when it does not answer in time. */
export const versionOf = (binary: string, env: NodeJS.ProcessEnv): Promise<string | null> =>
  new Promise((resolve) => {
    const child = execFile(binary, ['--version'], { env, timeout: 10_000 }, (error, stdout) =>
      resolve(error ? null : (stdout.trim().split('\n')[0] ?? null)),
    );
    child.stdin?.end();
  });
