import type { Evidence, ProofCount, ProvingWorker, ScenarioProof, ScenarioState } from './proof.ts';

/** All scenarios are proven, and there is at least one. */
export const isProven = ({ proven, total }: ProofCount): boolean => total > 0 && proven === total;

export interface RequirementGroup {
  /** null for scenarios that belong to no requirement. */
  readonly requirement: string | null;
  readonly scenarios: readonly ScenarioProof[];
  readonly proven: number;
}

/** Groups scenarios by requirement. Groups with something that is not proven come first. */
export const groupsOf = (scenarios: readonly ScenarioProof[]): RequirementGroup[] => {
  const groups = new Map<string | null, ScenarioProof[]>();
  for (const scenario of scenarios)
    groups.set(scenario.requirement, [...(groups.get(scenario.requirement) ?? []), scenario]);
  const all = [...groups].map(([requirement, rows]) => ({
    requirement,
    scenarios: rows,
    proven: rows.filter(({ state }) => state === 'proven').length,
  }));
  const isWhole = ({ scenarios: rows, proven }: RequirementGroup) => proven === rows.length;
  return [...all.filter((group) => !isWhole(group)), ...all.filter(isWhole)];
};

const states: readonly ScenarioState[] = ['failing', 'stale', 'linked', 'unlinked'];

/** `3 of 5 scenarios proven, 1 failing, 1 unlinked` */
export const countText = (count: ProofCount): string =>
  [
    `${count.proven} of ${count.total} ${count.total === 1 ? 'scenario' : 'scenarios'} proven`,
    ...unprovenTexts(count),
  ].join(', ');

/** `3/5 proven, 1 failing, 1 unlinked` */
export const shortCountText = (count: ProofCount): string =>
  [`${count.proven}/${count.total} proven`, ...unprovenTexts(count)].join(', ');

const unprovenTexts = (count: ProofCount): string[] =>
  states.filter((state) => count[state] > 0).map((state) => `${count[state]} ${state}`);

/** The evidence that a row names: its proof, or else what failed, or else what has not run. */
export const mainEvidence = ({ state, proof, evidence }: ScenarioProof): Evidence | null => {
  if (state === 'proven' && proof !== null) return proof;
  return evidence.find(({ outcome }) => outcome !== 'passed') ?? evidence[0] ?? proof;
};

/** The title of a test, or a command. */
export const evidenceName = ({ test, command }: Evidence): string => test ?? command;

/** The commit in which a scenario was proven: that on the branch, or else the checkpoint. */
export const provenAt = ({ proof }: ScenarioProof): string => (proof?.commit ?? proof?.checkpoint ?? '').slice(0, 8);

/** ` on worker build-1 (host-a)`; empty for this machine. `clean` makes the names fit for where they are shown. */
export const onWorker = (worker: ProvingWorker | undefined, clean = (names: string): string => names): string => {
  if (worker === undefined) return '';
  const { name, host } = worker;
  return ` on ${clean(`worker ${name}${host === null || host === name ? '' : ` (${host})`}`)}`;
};
