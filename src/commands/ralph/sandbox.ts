import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Options } from '../../flags.ts';
import type { Harness } from '../../harness/harness.ts';
import type { RunPlan } from '../../ralph/events.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { RunRequest } from './run.ts';

/** The sandbox of a run, tried out; null for a run without one. */
export const openRunSandbox = async (
  { project, options, call }: Pick<RunRequest, 'project' | 'options' | 'call'>,
  plan: Pick<RunPlan, 'sandbox' | 'run'>,
  agents: readonly Harness[],
): Promise<Sandbox | null> => {
  if (!plan.sandbox) return null;
  const { openSandbox } = await import('../../sandbox/sandbox.ts');
  return openSandbox({
    root: project.root,
    env: call.env,
    run: plan.run,
    agents,
    ...widenedBy(options, call),
  });
};

/** What the user allows in a sandbox. */
export const widenedBy = (
  { sandboxAllow, sandboxWrite }: Pick<Options, 'sandboxAllow' | 'sandboxWrite'>,
  { cwd, env }: Pick<RunRequest['call'], 'cwd' | 'env'>,
) => ({
  allow: sandboxAllow,
  write: sandboxWrite.map((path) => resolve(cwd, path.replace(/^~(?=\/|$)/, env.HOME || homedir()))),
});
