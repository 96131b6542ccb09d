import { changeOf } from '../changes/sources.ts';
import type { FlagValues } from '../config/flags.ts';
import { resolveOptions } from '../config/resolve.ts';
import { findHarness, missingBinary } from '../harness/registry.ts';
import { openSession } from '../harness/open-session.ts';
import { withProcessScope } from '../process/scope.ts';
import type { RunResult } from '../ralph/view.ts';
import type { Project } from '../store/project.ts';
import { createGivenBy } from './given-by.ts';
import { prepareRuns } from './prepare-runs.ts';
import type { CommonServices, RunServices } from './services.ts';
import { startRun } from './start.ts';

export interface HeadlessRequest extends Pick<RunServices, 'reporter' | 'onStopSignals' | 'batch' | 'cluster'> {
  readonly project: Project;
  readonly change: string;
  /** The source of the change, if several have one with the same ID. */
  readonly from?: string | null;
  readonly prompt: string;
  /** Override the config file of the project and SPOOL_* variables. */
  readonly settings: FlagValues;
  readonly env: NodeJS.ProcessEnv;
  /** Run the commands of the project's config file even if the user has not trusted them. */
  readonly trustProject?: boolean;
  /** Changes how agents are found and started. */
  readonly adapt?: (agents: Agents) => Agents;
}

type Agents = Pick<CommonServices, 'findHarness' | 'openSession' | 'missingAgent'>;

/** Runs a change without a terminal: for a program, or for a worker. */
export const startHeadless = (request: HeadlessRequest): Promise<RunResult> => {
  const { env, project } = request;
  const scope = { env, cwd: project.root, passLists: [], ownsProcess: false };
  return withProcessScope(scope, () => startHeadlessRun(request));
};

const startHeadlessRun = async (request: HeadlessRequest): Promise<RunResult> => {
  const { project, change, from = null, prompt, settings, env, trustProject, adapt = (agents) => agents } = request;
  const target = await changeOf(project, change, from);
  const resolved = await resolveOptions({ flagValues: settings, env, project });
  const { specs, services } = await prepareRuns({
    project,
    settings: resolved,
    targets: [target],
    prompt,
    cwd: project.root,
    parallel: 1,
    env,
    ...(trustProject === undefined ? {} : { trustProject }),
    consent: { say: (lines) => request.reporter.warn(lines.join('\n')), confirm: null },
    givenBy: createGivenBy({ values: settings, nameOf: (name) => name, env }),
    ownsProcess: false,
    ...adapt({
      findHarness: (name) => findHarness(name, resolved.customHarnesses),
      openSession,
      missingAgent: missingBinary,
    }),
  });
  const { reporter, onStopSignals, batch, cluster } = request;
  return startRun(specs[0]!, {
    ...services,
    reporter,
    onStopSignals,
    person: null,
    ...(batch && { batch }),
    ...(cluster && { cluster }),
  });
};
