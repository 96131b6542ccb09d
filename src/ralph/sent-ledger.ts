import type { Ledger, Proof, ProvingWorker, ScenarioProof } from './proof.ts';

/** What is known about a ledger that a worker has sent, without believing the ledger itself. */
export interface SentFrom {
  readonly change: string;
  /** The run that the worker has. */
  readonly run: string;
  /** Who has sent it last. An earlier owner of the change may have run the gate. */
  readonly sender: ProvingWorker;
  /** Whether the run has a commit: a checkpoint, or a commit on its branch. */
  hasCheckpoint(commit: string): boolean;
  hasCommit(commit: string): boolean;
}

/**
 * Returns what is believed of a ledger that a worker has sent: null if it is not that of the run. A scenario counts as
 * proven only if the ledger names evidence that passed in its gate, at a checkpoint of the run. Every proof names a worker,
 * so that it is never taken for one of this machine.
 */
export const believeLedger = (sent: Ledger, from: SentFrom): Ledger | null => {
  if (sent.change !== from.change || sent.run !== from.run) return null;
  const worker = workerOf(sent.worker, from.sender);
  return {
    ...sent,
    worker,
    scenarios: sent.scenarios.map((row) => {
      const proof = row.proof && { ...row.proof, worker: workerOf(row.proof.worker ?? worker, from.sender) };
      const why = row.state === 'proven' ? whyDoubtful({ ...row, proof }, sent, from) : null;
      return why === null ? { ...row, proof } : { ...row, proof, state: 'linked', reason: why };
    }),
  };
};

/** Only the sender has its epoch, and no one has a later one. */
const workerOf = (named: ProvingWorker | undefined, sender: ProvingWorker): ProvingWorker => {
  if (named === undefined || named.epoch > sender.epoch) return sender;
  return named.epoch === sender.epoch && named.name !== sender.name ? sender : named;
};

const whyDoubtful = ({ hash, evidence, proof }: ScenarioProof, gate: Ledger, from: SentFrom): string | null => {
  const hasPassed = evidence.length > 0 && evidence.every(({ outcome }) => outcome === 'passed');
  if (proof === null || !hasPassed || proof.hash !== hash || !isOfGate(proof, gate))
    return 'its worker does not say what proves it';
  if (proof.checkpoint === null || !from.hasCheckpoint(proof.checkpoint))
    return 'it was proven at a checkpoint that its run does not have';
  if (proof.commit !== null && !from.hasCommit(proof.commit))
    return 'it was proven at a commit that is not on its branch';
  return null;
};

const isOfGate = ({ outcome, run, iteration }: Proof, gate: Ledger): boolean =>
  outcome === 'passed' && run === gate.run && iteration === gate.iteration;
