import { execFile } from 'node:child_process';

/** What a binary answers on stdout and stderr; null when it does not answer in time, or cannot be run. */
export const answerOf = (binary: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string | null> =>
  new Promise((resolve) => {
    const child = execFile(binary, args, { env, timeout: 15_000 }, (error, stdout, stderr) =>
      resolve(error && typeof error.code !== 'number' ? null : `${stdout}${stderr}`),
    );
    child.stdin?.end();
  });

/** The first line of what it answers to `--version`. */
export const versionOf = async (binary: string, env: NodeJS.ProcessEnv): Promise<string | null> => {
  const answer = await answerOf(binary, ['--version'], env);
  return answer?.trim().split('\n')[0] || null;
};
