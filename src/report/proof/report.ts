import type { Evidence, Ledger, ProofCount, ScenarioProof, ScenarioState } from '../../ralph/proof.ts';
import type { IterationRecord } from '../../ralph/record.ts';
import type { RunView } from '../../ralph/view.ts';

/** What is known about the scenarios of a change, and about its last run. Every form of the proof is rendered from it. */
export interface ProofReport {
  readonly change: string;
  /** The first heading of its proposal; null if there is none. */
  readonly title: string | null;
  readonly archived: boolean;
  /** As the specs are now, in their order. */
  readonly scenarios: readonly ScenarioProof[];
  readonly count: ProofCount;
  readonly unknown: Ledger['unknown'];
  /** The gate that checked them last; null if none did. */
  readonly gate: Pick<Ledger, 'run' | 'iteration' | 'at'> | null;
  readonly tasks: readonly ReportedTask[];
  /** Of the last run; null if there was none. */
  readonly run: RunView | null;
  /** Of the last run, oldest first. */
  readonly records: readonly IterationRecord[];
}

export interface ReportedTask {
  readonly title: string;
  readonly done: boolean;
  readonly optional: boolean;
}

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
    ...states.filter((state) => count[state] > 0).map((state) => `${count[state]} ${state}`),
  ].join(', ');

/** The evidence that a row names: its proof, or else what failed, or else what has not run. */
export const mainEvidence = ({ state, proof, evidence }: ScenarioProof): Evidence | null => {
  if (state === 'proven' && proof !== null) return proof;
  return evidence.find(({ outcome }) => outcome !== 'passed') ?? evidence[0] ?? proof;
};

/** The title of a test, or a command. */
export const evidenceName = ({ test, command }: Evidence): string => test ?? command;

/** The commit in which a scenario was proven: that on the branch, or else the checkpoint. */
export const provenAt = ({ proof }: ScenarioProof): string => (proof?.commit ?? proof?.checkpoint ?? '').slice(0, 8);
