import { childEnvironment } from '../../harness/environment.ts';
import type { Harness } from '../../harness/harness.ts';
import { missingBinary, onPath } from '../../harness/index.ts';
import { answerOf, versionOf } from '../../harness/version.ts';
import { oneLine } from '../../report/format.ts';
import { type Check, fail, ok, warn } from './check.ts';

/** Is it there, which version, and is somebody signed in, as far as it can be told. */
export const checkAgent = async (harness: Harness, env: NodeJS.ProcessEnv): Promise<Check[]> => {
  const path = env.PATH ?? '';
  const binary = onPath(harness.binary, path);
  if (binary === null)
    return [fail(harness.name, missingBinary(harness, path)?.message ?? 'not found', harness.install)];
  const version = await versionOf(binary, childEnvironment(env));
  if (version === null)
    return [fail(harness.name, `${binary} does not answer to --version`, `install it anew: ${harness.install}`)];
  return [ok(harness.name, `${oneLine(version, 60)}, ${binary}`), ...(await checkSignIn(harness, binary, env))];
};

const checkSignIn = async (harness: Harness, binary: string, env: NodeJS.ProcessEnv): Promise<Check[]> => {
  if (!harness.signIn) return [];
  const { args, signedOut, maybe, fix } = harness.signIn;
  const answer = await answerOf(binary, args, childEnvironment(env));
  if (answer === null || !signedOut.test(answer)) return [ok(harness.name, 'signed in, as far as it can be told')];
  return [
    maybe
      ? warn(harness.name, 'nobody is signed in; a key or a provider of your own may do', fix)
      : fail(harness.name, 'nobody is signed in', fix),
  ];
};
