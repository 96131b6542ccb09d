import type { Evidence, Ledger, Proof, ProvingWorker, ScenarioProof } from './proof.ts';

/** More scenarios than any change has, each with more evidence than anyone reads. */
export const maxScenarios = 2000;
const maxEvidence = 20;
const maxUnknown = 100;
const maxTextLength = 500;

/** Limits the size of a ledger. Scenarios beyond the limit are left out: their number is checked before a run starts. */
export const boundLedger = (ledger: Ledger): Ledger => ({
  ...ledger,
  ...(ledger.worker && { worker: boundWorker(ledger.worker) }),
  scenarios: ledger.scenarios.slice(0, maxScenarios).map(boundScenario),
  unknown: ledger.unknown.slice(0, maxUnknown).map(({ id, where }) => ({ id: short(id), where: short(where) })),
});

const boundScenario = (scenario: ScenarioProof): ScenarioProof => ({
  ...scenario,
  title: short(scenario.title),
  requirement: scenario.requirement && short(scenario.requirement),
  reason: scenario.reason && short(scenario.reason),
  evidence: scenario.evidence.slice(0, maxEvidence).map(boundEvidence),
  proof: scenario.proof && boundProof(scenario.proof),
});

const boundProof = (proof: Proof): Proof => ({
  ...boundEvidence(proof),
  ...(proof.worker && { worker: boundWorker(proof.worker) }),
});

const boundWorker = ({ name, host, epoch }: ProvingWorker): ProvingWorker => ({
  name: short(name),
  host: host && short(host),
  epoch,
});

const boundEvidence = <Kind extends Evidence>(evidence: Kind): Kind => ({
  ...evidence,
  command: short(evidence.command),
  test: evidence.test && short(evidence.test),
  file: evidence.file && short(evidence.file),
});

const short = (text: string): string => (text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1)}…`);
