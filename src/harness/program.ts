import { trustedProgram, untrustedAround, withTrustedPath } from '../process/trusted-path.ts';
import { onPath } from '../process/which.ts';
import type { Harness } from './harness.ts';

/** Where to look for an agent. */
export interface Lookup {
  readonly env: NodeJS.ProcessEnv;
  /** The folder in which Spool was started, and the one in which the agent works. */
  readonly cwds: readonly string[];
}

/**
 * The executable of an agent, or null if it is not installed. A built-in agent is never taken from the project or the
 * repository around it: a clone or an agent may have put a file there, and the user never agreed to run it. A custom
 * agent was trusted together with its command.
 */
export const agentProgram = ({ launch: { binary }, custom }: Harness, { env, cwds }: Lookup): string | null =>
  custom ? onPath(binary, env.PATH ?? '') : trustedProgram(binary, env.PATH ?? '', untrustedAroundAll(cwds));

/** The executable on PATH, wherever it is; null if there is none. Finds those that `agentProgram` rejects. */
export const passedOver = ({ launch: { binary } }: Harness, { env }: Lookup): string | null =>
  onPath(binary, env.PATH ?? '');

/**
 * The environment for queries such as `--version`. The interpreter of the agent is not looked up in the project either.
 */
export const askingEnvironment = ({ env, cwds }: Lookup): NodeJS.ProcessEnv =>
  withTrustedPath(env, untrustedAroundAll(cwds));

const untrustedAroundAll = (cwds: readonly string[]): string[] => [...new Set(cwds)].flatMap(untrustedAround);
