import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allowedEnvironment } from '../../process/scope.ts';
import { childEnvironment } from '../../process/environment.ts';
import type { Harness } from '../../harness/harness.ts';
import { agentProgram, askingEnvironment, passedOver } from '../../harness/program.ts';
import { queryBinary, type Question, versionOf } from '../../harness/version.ts';
import { readJson } from '../../files/read.ts';
import { createRedactor } from '../../secrets/redact.ts';
import { visible } from '../../text/escape-hidden.ts';
import { removeFolder } from '../../sandbox/remove-folder.ts';
import { type Check, fail, ok, warn } from './check.ts';

export interface AgentQuestion {
  readonly harness: Harness;
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
  /** The folder in which Spool was started. */
  readonly cwd: string;
  /** The folder in which the agent would work. */
  readonly root: string;
  readonly allowAll: boolean;
}

/** Checks that the agent is installed, that it runs, that the user is signed in, and that its settings let it work. */
export const checkAgent = async (question: AgentQuestion): Promise<Check[]> => {
  const { harness, env, stop, cwd, root } = question;
  const lookup = { env: allowedEnvironment(env), cwds: [cwd, root] };
  const binary = agentProgram(harness, lookup);
  if (binary === null) {
    const inProject = passedOver(harness, lookup);
    const message =
      inProject === null
        ? `${harness.launch.binary} is not on PATH`
        : `${inProject} is in the project and therefore not used`;
    return [fail(harness.name, message, harness.install)];
  }
  if (harness.custom) return [ok(harness.name, `${binary} (custom: ${visible(harness.custom.command)})`)];
  const asking = childEnvironment(askingEnvironment(lookup));
  const version = await versionOf({ binary, env: asking, stop });
  if (version === null)
    return [fail(harness.name, `${binary} does not respond to --version`, `reinstall it: ${harness.install}`)];
  return [
    ok(harness.name, `${createRedactor(env).oneLine(version, 60)}, ${binary}`),
    await checkSignIn(question, { binary, env: asking }),
    ...checkGrants(question),
  ];
};

const checkSignIn = async (
  { harness, stop }: AgentQuestion,
  { binary, env }: Pick<Question, 'binary' | 'env'>,
): Promise<Check> => {
  const unknown = warn(harness.name, 'cannot tell whether you are signed in', 'try it with "spool doctor --probe"');
  if (!harness.auth) return unknown;
  const { args, signedOut, optional, fix } = harness.auth;
  // Not in the project: an agent may load files from there.
  const cwd = mkdtempSync(join(tmpdir(), 'spool-doctor-'));
  const answer = await queryBinary({ binary, args, cwd, env, stop }).finally(() => removeFolder(cwd));
  if (answer !== null && signedOut.test(answer.text))
    return optional
      ? warn(harness.name, 'not signed in (fine if you use an API key or custom provider)', fix)
      : fail(harness.name, 'not signed in', fix);
  return answer?.code === 0 ? ok(harness.name, 'signed in') : unknown;
};

const checkGrants = ({ harness, env, root, allowAll }: AgentQuestion): Check[] => {
  const { isGranted, howToAllow } = harness.permissions ?? {};
  if (!isGranted || allowAll || isGranted({ root, env, readJson })) return [];
  const setting = howToAllow?.([]);
  return [warn(harness.name, 'edits and commands will be denied', `--allow-all${setting ? `, or ${setting}` : ''}`)];
};
