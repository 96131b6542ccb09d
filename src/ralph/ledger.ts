import type { Ledger, ProofCount, Scenario, ScenarioProof } from './proof.ts';

/** How many scenarios are in which state. */
export const countProof = (scenarios: readonly Pick<ScenarioProof, 'state'>[]): ProofCount => {
  const count = { unlinked: 0, linked: 0, failing: 0, proven: 0, stale: 0, total: scenarios.length };
  for (const { state } of scenarios) count[state] += 1;
  return count;
};

/**
 * Returns the rows for the scenarios as they are now, without new results: what was proven is stale if its text has
 * changed since, and a scenario that the last gate did not know is unlinked, or linked if it has a command.
 */
export const currentRows = (scenarios: readonly Scenario[], ledger: Ledger | null): ScenarioProof[] => {
  const known = new Map(ledger?.scenarios.map((row) => [row.id, row]));
  return scenarios.map((scenario) => currentRow(scenario, known.get(scenario.id)));
};

const currentRow = (scenario: Scenario, row: ScenarioProof | undefined): ScenarioProof => {
  const { id, title, requirement, hash } = scenario;
  if (row === undefined) return { id, title, requirement, hash, ...notRun(scenario), evidence: [], proof: null };
  if (row.hash === hash) return { ...row, title, requirement };
  const now = { ...row, title, requirement, hash };
  if (row.proof !== null && row.proof.hash !== hash)
    return { ...now, state: 'stale', reason: 'its text changed since it was proven' };
  if (row.evidence.length === 0) return { ...now, ...notRun(scenario) };
  return { ...now, state: 'linked', reason: 'its text changed since the last gate' };
};

const notRun = ({ verify }: Scenario): Pick<ScenarioProof, 'state' | 'reason'> =>
  verify.length > 0
    ? { state: 'linked', reason: 'its command has not run' }
    : { state: 'unlinked', reason: 'no gate has run since it was added' };
