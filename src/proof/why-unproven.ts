import { scenariosOf } from '../changes/scenarios/scenarios.ts';
import type { Change } from '../changes/source.ts';
import { countProof, currentRows } from '../ralph/ledger.ts';
import type { ScenarioProof } from '../ralph/proof.ts';
import { onWorker } from '../ralph/proof-rows.ts';
import type { ChangeRef } from '../store/change-ref.ts';
import type { Project } from '../store/project.ts';
import { readLedger } from '../store/user-state/ledger.ts';

/**
 * Returns why a change is not proven, by the ledger of its last gate and the scenarios as they are now; null if every
 * scenario is proven.
 */
export const whyUnproven = (project: Project, change: Change, env: NodeJS.ProcessEnv): string | null =>
  whyNotProven(currentRows(scenariosOf(change, project.root), readLedger({ project, change: change.id, env })));

/** The same for the rows of a ledger. */
export const whyNotProven = (rows: readonly ScenarioProof[]): string | null => {
  const { proven, total } = countProof(rows);
  if (total === 0) return 'it has no scenarios';
  const open = rows.find(({ state }) => state !== 'proven');
  return open === undefined ? null : `${proven} of ${total} scenarios; ${open.id}: ${open.reason ?? open.state}`;
};

/** Returns a sentence about the worker whose gate was the last one; null if it was a gate of this machine. */
export const provenElsewhere = (of: ChangeRef): string | null => {
  const ledger = readLedger(of);
  if (!ledger?.worker) return null;
  const { worker, iteration, run } = ledger;
  return `Its scenarios were proven${onWorker(worker)} in iteration ${iteration} of run ${run}, not on this machine.`;
};
