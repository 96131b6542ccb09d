import type { Change } from '../changes/source.ts';
import { withOwnCommands } from '../config/own-commands.ts';
import type { Resolved } from '../config/resolve.ts';
import { withLastSettings } from './resume/last-settings.ts';
import type { CommonServices } from './services.ts';
import type { RunSpec } from './spec.ts';
import { type TrustRunsRequest, trustRuns } from './trust-runs.ts';

type Settings = Pick<Resolved, 'config' | 'explicit' | 'fileFor' | 'forChange' | 'passLists'>;

interface PrepareRequest
  extends
    Omit<TrustRunsRequest, 'config' | 'specs'>,
    Pick<RunSpec, 'prompt' | 'cwd' | 'newChange'>,
    Pick<CommonServices, 'ownsProcess' | 'openSession' | 'missingAgent'> {
  readonly settings: Settings;
  readonly targets: readonly Change[];
  /** The caller answers for what the project runs. */
  readonly trustProject?: boolean;
}

interface PreparedRuns {
  /** One for each target. */
  readonly specs: readonly RunSpec[];
  /** The services that these runs share. */
  readonly services: CommonServices;
  /** The settings of a change, with the verify commands in its own files. */
  readonly forChange: Resolved['forChange'];
}

/** Returns what to run, after the user has trusted what the project would run. */
export const prepareRuns = async (request: PrepareRequest): Promise<PreparedRuns> => {
  const { targets, env, findHarness, ownsProcess, openSession, missingAgent, trustProject } = request;
  const settings = withOwnCommands(request.settings, targets);
  const specs = await Promise.all(targets.map((target) => prepareSpec(target, { ...request, settings })));
  const trusted = await trustRuns({
    ...request,
    config: settings.config,
    specs,
    env: trustProject ? { ...env, SPOOL_TRUST: '1' } : env,
  });
  const services = { env, findHarness, trusted, pid: process.pid, ownsProcess, openSession, missingAgent };
  return { specs, services, forChange: settings.forChange };
};

const prepareSpec = (
  target: Change,
  { settings, project, prompt, cwd, newChange, env }: PrepareRequest,
): Promise<RunSpec> => {
  const { forChange, fileFor, explicit, passLists } = settings;
  const options = forChange(target.id);
  const spec = { project, target, prompt, cwd, options, fileSettings: fileFor(target.id), explicit, passLists };
  // A change of the same name may have existed before.
  const created = newChange && { ...spec, newChange, options: { ...options, fresh: true } };
  return withLastSettings(created ?? spec, env);
};
