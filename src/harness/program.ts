import { trustedProgram, untrustedAround, withTrustedPath } from '../git/program.ts';
import { onPath } from '../process/which.ts';
import type { Harness } from './harness.ts';

/** Where an agent is looked up. */
export interface Lookup {
  readonly env: NodeJS.ProcessEnv;
  /** Where Spool was started, and where the agent works. */
  readonly cwds: readonly string[];
}

/**
 * The file that is run as an agent; null when there is none. A built-in one is never taken from the project, or the
 * repository around it: nobody was asked whether what a clone or an agent has put there may run. One of the user's own
 * was trusted with its command.
 */
export const agentProgram = ({ binary, custom }: Harness, { env, cwds }: Lookup): string | null =>
  custom ? onPath(binary, env.PATH ?? '') : trustedProgram(binary, env.PATH ?? '', cwds.flatMap(untrustedAround));

/** The file that would be run if it were not in the project; null when there is none at all. */
export const passedOver = ({ binary }: Harness, { env }: Lookup): string | null => onPath(binary, env.PATH ?? '');

/** The environment in which an agent is only asked something: its interpreter is not looked up in the project either. */
export const askingEnvironment = ({ env, cwds }: Lookup): NodeJS.ProcessEnv =>
  withTrustedPath(env, cwds.flatMap(untrustedAround));
