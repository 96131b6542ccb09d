import { type AgentChoice, agentKey, type RunPlan } from '../../ralph/plan.ts';
import { reportsIn } from './agent-reports.ts';
import { checkLimits } from './reported-limits.ts';
import type { RunSpec } from '../spec.ts';
import type { RunServices } from '../services.ts';

export interface UsableAgents {
  readonly agents: readonly AgentChoice[];
  /** Lines for the user about missing agents, ignored models and unchecked limits. */
  readonly notices: readonly string[];
}

/** Returns the agents of a plan that are installed. Throws if none is. */
export const usableAgents = (
  plan: Pick<RunPlan, 'agents' | 'limits' | 'ladder' | 'sandbox'>,
  { project, cwd, options }: Pick<RunSpec, 'project' | 'cwd' | 'options'>,
  { findHarness, env, missingAgent, cluster }: Pick<RunServices, 'findHarness' | 'env' | 'missingAgent' | 'cluster'>,
): UsableAgents => {
  const lookup = { env, cwds: [cwd, project.root] };
  const candidates = plan.agents.map((agent) => ({ agent, problem: missingAgent(findHarness(agent.harness), lookup) }));
  const installed = candidates
    .filter(({ problem }) => problem === null)
    .map(({ agent }) => (findHarness(agent.harness).launch.choosesOwnModel ? { ...agent, model: null } : agent));
  // Rungs of a harness that chooses its model itself are one rung.
  const agents = plan.ladder
    ? installed.filter((agent, index) => installed.findIndex((each) => agentKey(each) === agentKey(agent)) === index)
    : installed;
  const missing = candidates.flatMap(({ problem }) => (problem === null ? [] : [problem]));
  if (agents.length === 0 && missing[0]) throw missing[0];
  const ignoredModels = plan.agents
    .filter(({ harness, model }) => model !== null && findHarness(harness).launch.choosesOwnModel)
    .map(
      ({ harness, model }) =>
        `The model ${model} is not passed to ${findHarness(harness).title}, which chooses its model itself.`,
    );
  const circumstances = { options, isSandboxed: plan.sandbox, isWorker: cluster !== undefined };
  const unchecked = checkLimits({ agents, limits: plan.limits }, reportsIn(circumstances, findHarness));
  return { agents, notices: [...missing.map(({ message }) => message), ...ignoredModels, ...unchecked] };
};
