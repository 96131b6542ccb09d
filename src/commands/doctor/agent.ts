import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { passed } from '../../process/scope.ts';
import { childEnvironment } from '../../process/environment.ts';
import type { Harness } from '../../harness/harness.ts';
import { agentProgram, askingEnvironment, passedOver } from '../../harness/program.ts';
import { ask, type Question, versionOf } from '../../harness/version.ts';
import { readJson } from '../../files/read.ts';
import { oneLine } from '../../text/format.ts';
import { visible } from '../../text/visible.ts';
import { removeFolder } from '../../sandbox/remove.ts';
import { type Check, fail, ok, warn } from './check.ts';

export interface AgentQuestion {
  readonly harness: Harness;
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
  /** Where Spool was started. */
  readonly cwd: string;
  /** The folder in which it would work. */
  readonly root: string;
  /** It would be allowed everything. */
  readonly allowAll: boolean;
}

/** Is it there, which version, is somebody signed in and may it work, as far as it can be told. */
export const checkAgent = async (question: AgentQuestion): Promise<Check[]> => {
  const { harness, env, stop, cwd, root } = question;
  const lookup = { env: passed(env), cwds: [cwd, root] };
  const binary = agentProgram(harness, lookup);
  if (binary === null) {
    const inProject = passedOver(harness, lookup);
    const message =
      inProject === null ? `${harness.binary} is not on PATH` : `${inProject} is in the project, not used`;
    return [fail(harness.name, message, harness.install)];
  }
  if (harness.custom) return [ok(harness.name, `${binary} (custom: ${visible(harness.custom.command)})`)];
  const asking = childEnvironment(askingEnvironment(lookup));
  const version = await versionOf({ binary, env: asking, stop });
  if (version === null)
    return [fail(harness.name, `${binary} does not answer to --version`, `install it anew: ${harness.install}`)];
  return [
    ok(harness.name, `${oneLine(version, 60)}, ${binary}`),
    await checkSignIn(question, { binary, env: asking }),
    ...checkGrants(question),
  ];
};

const checkSignIn = async (
  { harness, stop }: AgentQuestion,
  { binary, env }: Pick<Question, 'binary' | 'env'>,
): Promise<Check> => {
  const unknown = warn(
    harness.name,
    'whether somebody is signed in cannot be told',
    'spool doctor --probe, which tries it',
  );
  if (!harness.signIn) return unknown;
  const { args, signedOut, maybe, fix } = harness.signIn;
  // Not in the project: an agent may load what it finds there.
  const cwd = mkdtempSync(join(tmpdir(), 'spool-doctor-'));
  const answer = await ask({ binary, args, cwd, env, stop }).finally(() => removeFolder(cwd));
  if (answer !== null && signedOut.test(answer.text))
    return maybe
      ? warn(harness.name, 'nobody is signed in; a key or a provider of your own may do', fix)
      : fail(harness.name, 'nobody is signed in', fix);
  return answer?.code === 0 ? ok(harness.name, 'signed in, as far as it can be told') : unknown;
};

const checkGrants = ({ harness, env, root, allowAll }: AgentQuestion): Check[] => {
  const { isGranted, advice } = harness;
  if (!isGranted || allowAll || isGranted({ root, env, readJson })) return [];
  const setting = advice?.permission?.([]);
  return [warn(harness.name, 'edits and commands will be denied', `--allow-all${setting ? `, or ${setting}` : ''}`)];
};
