import type { Change } from '../../changes/source.ts';
import type { Options } from '../../config/flags.ts';
import type { ScenarioCommands } from '../../ralph/plan.ts';
import type { Project } from '../../store/project.ts';
import type { LastRun } from '../resume/last-run.ts';

interface ScenarioRequest {
  readonly project: Project;
  readonly target: Change;
  readonly options: Pick<Options, 'requireScenarios' | 'redFirst'>;
}

/**
 * Adds the `**Verify**:` commands of the scenarios if they must be proven. They are fixed for the run: a command that
 * appears later is not run, because the user has not trusted it.
 */
export const withScenarioCommands = async <Request extends ScenarioRequest>(
  request: Request,
  { view }: Pick<LastRun, 'view'>,
): Promise<Request & { readonly scenarioCommands?: ScenarioCommands }> => {
  const { project, target, options } = request;
  if (!options.requireScenarios && !options.redFirst && !view?.gate.requireScenarios) return request;
  const { scenariosOf } = await import('../../changes/scenarios/scenarios.ts');
  const verified = scenariosOf(target, project.root).filter(({ verify }) => verify.length > 0);
  if (verified.length === 0) return request;
  const scenarioCommands: ScenarioCommands = Object.fromEntries(verified.map(({ id, verify }) => [id, verify]));
  return { ...request, scenarioCommands };
};
