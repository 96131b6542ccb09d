import type { Ledger } from '../ralph/proof.ts';
import { believeLedger } from '../ralph/sent-ledger.ts';
import { boundLedger } from '../ralph/ledger-bounds.ts';
import { parseLedger } from '../store/ledger-format.ts';
import { parseJson } from '../text/shape.ts';
import type { FenceData } from './fence.ts';

/** Where the state of a run has its ledger. */
export const ledgerPath = 'record/ledger.json';

/** Workers send no longer files. */
export const maxLedger = 8 * 1024 * 1024;

export interface SentLedger {
  readonly change: string;
  readonly run: string;
  /** Of the fence that has the ledger. */
  readonly data: FenceData;
  /** The commits of the branch; null if they were not fetched. */
  readonly commits: ReadonlySet<string> | null;
}

/** Returns what is believed of the ledger that a worker has pushed with a run; null if there is none that can be used. */
export const readSentLedger = (content: Buffer | null | undefined, sent: SentLedger): Ledger | null => {
  if (!content || content.length > maxLedger) return null;
  const ledger = parseLedger(parseJson(content.toString('utf8')));
  if (ledger === undefined) return null;
  const { change, run, data, commits } = sent;
  const checkpoints = new Set(data.checkpoints.filter((each) => each.run === run).map(({ commit }) => commit));
  return believeLedger(boundLedger(ledger), {
    change,
    run,
    sender: { name: data.owner, host: null, epoch: data.epoch },
    hasCheckpoint: (commit) => checkpoints.has(commit),
    hasCommit: (commit) => commits === null || commits.has(commit),
  });
};
