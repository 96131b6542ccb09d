import type { CommonServices } from './services.ts';
import { type TrustRequest, trustRuns } from './trust.ts';

interface PrepareRequest
  extends TrustRequest, Pick<CommonServices, 'findHarness' | 'ownsProcess' | 'openSession' | 'missingAgent'> {
  /** The caller answers for what the project runs. */
  readonly trustProject?: boolean;
}

/** Returns the services that these runs share, after the user has trusted what the project would run. */
export const prepareRuns = async (request: PrepareRequest): Promise<CommonServices> => {
  const { env, findHarness, ownsProcess, openSession, missingAgent, trustProject } = request;
  const trusted = await trustRuns({ ...request, env: trustProject ? { ...env, SPOOL_TRUST: '1' } : env });
  return { env, findHarness, trusted, pid: process.pid, ownsProcess, openSession, missingAgent };
};
