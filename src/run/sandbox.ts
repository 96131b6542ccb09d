import { resolve } from 'node:path';
import { envOf, type FlagName, flagOf, type Options } from '../config/flags.ts';
import { userError } from '../errors.ts';
import { homeOf } from '../files/home.ts';
import { distrust } from '../git/call/program.ts';
import type { Harness } from '../harness/harness.ts';
import type { AgentChoice, RunPlan } from '../ralph/plan.ts';
import type { Sandbox } from '../process/sandbox-types.ts';
import type { RunSpec } from './spec.ts';
import type { RunServices } from './services.ts';

export interface RunSandbox {
  /**
   * Opens and tests the sandbox at the first call for a plan with one, which may be the plan that was made again under
   * the lock. Returns null for a plan without a sandbox.
   */
  open(plan: Pick<RunPlan, 'sandbox' | 'run'>, agents: readonly AgentChoice[]): Promise<Sandbox | null>;
  close(): Promise<void>;
}

export const createRunSandbox = (
  { project, options, cwd, explicit }: RunSpec,
  {
    env,
    findHarness,
    cluster,
    stop,
  }: Pick<RunServices, 'env' | 'findHarness' | 'cluster'> & Pick<SandboxedRequest, 'stop'>,
): RunSandbox => {
  let opened: Sandbox | null = null;
  return {
    open: async ({ sandbox, run }, agents) => {
      if (!sandbox) {
        refuseWidening(explicit);
        return null;
      }
      opened ??= await openSandboxFor(
        { project, options, cwd, env, stop, ...(cluster && { hidden: cluster.hidden }) },
        run,
        agents.map(({ harness }) => findHarness(harness)),
      );
      return opened;
    },
    close: async () => opened?.close(),
  };
};

/** Throws if the user widens a sandbox without using one. */
export const refuseWidening = (explicit: ReadonlySet<FlagName>): void => {
  const name = (['sandboxAllow', 'sandboxWrite'] as const).find((each) => explicit.has(each));
  if (name !== undefined) throw userError('not-sandboxed', flagOf(name), envOf(name));
};

interface SandboxedRequest extends Pick<RunSpec, 'project' | 'options' | 'cwd'> {
  readonly env: NodeJS.ProcessEnv;
  /** Aborted to stop waiting for the sandbox. */
  readonly stop: AbortSignal;
  /** Paths to hide besides the usual ones. */
  readonly hidden?: () => readonly string[];
}

export const openSandboxFor = async (
  { project, options, cwd, ...request }: SandboxedRequest,
  run: string,
  agents: readonly Harness[],
): Promise<Sandbox> => {
  const { openSandbox } = await import('../sandbox/sandbox.ts');
  return openSandbox({
    ...request,
    root: project.root,
    cwd,
    run,
    agents,
    ...widenedAccess(options, { cwd, env: request.env }),
  });
};

/** Keeps Spool from running a git program in a folder to which agents can write. */
export const distrustWritable = (
  options: Pick<Options, 'sandboxAllow' | 'sandboxWrite'>,
  { cwd, env }: Pick<SandboxedRequest, 'cwd' | 'env'>,
  agents: readonly Harness[],
): void =>
  distrust([
    ...widenedAccess(options, { cwd, env }).write,
    ...agents.flatMap(({ sandbox }) => sandbox?.data(homeOf(env), env) ?? []),
  ]);

/** Returns the hosts and paths that the user allows in a sandbox. */
export const widenedAccess = (
  { sandboxAllow, sandboxWrite }: Pick<Options, 'sandboxAllow' | 'sandboxWrite'>,
  { cwd, env }: Pick<SandboxedRequest, 'cwd' | 'env'>,
) => ({
  allow: sandboxAllow,
  write: sandboxWrite.map((path) => resolve(cwd, path.replace(/^~(?=\/|$)/, homeOf(env)))),
});
