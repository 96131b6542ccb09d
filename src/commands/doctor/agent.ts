import { childEnvironment } from '../../harness/environment.ts';
import type { Harness } from '../../harness/harness.ts';
import { onPath } from '../../harness/index.ts';
import { ask, versionOf } from '../../harness/version.ts';
import { oneLine } from '../../report/format.ts';
import { type Check, fail, ok, warn } from './check.ts';

export interface AgentQuestion {
  readonly harness: Harness;
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
}

/** Is it there, which version, and is somebody signed in, as far as it can be told. */
export const checkAgent = async ({ harness, env, stop }: AgentQuestion): Promise<Check[]> => {
  const binary = onPath(harness.binary, env.PATH ?? '');
  if (binary === null) return [fail(harness.name, `${harness.binary} is not on PATH`, harness.install)];
  if (harness.unversioned) return [ok(harness.name, binary)];
  const version = await versionOf({ binary, env: childEnvironment(env), stop });
  if (version === null)
    return [fail(harness.name, `${binary} does not answer to --version`, `install it anew: ${harness.install}`)];
  return [ok(harness.name, `${oneLine(version, 60)}, ${binary}`), await checkSignIn({ harness, env, stop }, binary)];
};

const checkSignIn = async ({ harness, env, stop }: AgentQuestion, binary: string): Promise<Check> => {
  const unknown = warn(
    harness.name,
    'whether somebody is signed in cannot be told',
    'spool doctor --probe, which tries it',
  );
  if (!harness.signIn) return unknown;
  const { args, signedOut, maybe, fix } = harness.signIn;
  const answer = await ask({ binary, args, env: childEnvironment(env), stop });
  if (answer !== null && signedOut.test(answer.text))
    return maybe
      ? warn(harness.name, 'nobody is signed in; a key or a provider of your own may do', fix)
      : fail(harness.name, 'nobody is signed in', fix);
  return answer?.code === 0 ? ok(harness.name, 'signed in, as far as it can be told') : unknown;
};
