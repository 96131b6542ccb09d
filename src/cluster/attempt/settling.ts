import { setTimeout as delay } from 'node:timers/promises';
import { asUserError } from '../../errors.ts';
import type { RunResult } from '../../ralph/view.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { settle, type Settlement } from '../claims.ts';
import type { Sql } from '../database.ts';
import type { AttemptContext } from './context.ts';
import { isMachineProblem } from './machine-problem.ts';
import type { Cut } from './stopping.ts';

/** What becomes of a change whose run has ended. `wantsPause`: whether a person has asked to pause or to stop it. */
export const settlementOf = (
  result: RunResult,
  { cut, wantsPause }: { readonly cut: Cut | null; readonly wantsPause: boolean | null },
): Settlement => {
  if (cut?.kind === 'failed') return { state: 'failed', detail: cut.why };
  if (result.reason !== 'interrupted') return { state: result.reason, detail: result.detail };
  if (cut?.kind === 'waiting') return { state: 'waiting', detail: cut.why, availableAt: new Date(cut.untilMs) };
  if (cut?.kind === 'handed-back' || wantsPause === null) return { state: 'queued', detail: null };
  return wantsPause ? { state: 'paused', detail: 'by a request' } : { state: 'stopped', detail: 'by a request' };
};

/** What becomes of a change that could not be run. */
export const settlementOfError = (error: unknown, context: AttemptContext): Settlement => {
  const { claim, log } = context;
  const known = asUserError(error);
  if (known?.code === 'queue-unreachable') return { state: 'queued', detail: null };
  if (known === null) log(`${claim.id}: ${(error as Error).stack ?? String(error)}`);
  return failedOrRetry(known?.message ?? `a bug in Spool: ${String(error)}`, context);
};

/** The database and the remote are read by others. */
export const withoutSecrets = (settlement: Settlement, redactor: Redactor): Settlement => ({
  ...settlement,
  detail: settlement.detail === null ? null : redactor.text(settlement.detail),
});

/** Any worker tries again after a lease. */
export const retryAfterLease = (why: string, { leaseMs, host, onMachineProblem }: AttemptContext): Settlement => {
  const isMachine = isMachineProblem(why);
  if (isMachine) onMachineProblem(why);
  return {
    state: 'waiting',
    detail: isMachine ? `machine problem on ${host}: ${why}` : why,
    availableAt: new Date(Date.now() + leaseMs),
  };
};

/** The change has failed. If the machine is to blame, a worker tries again. */
export const failedOrRetry = (why: string, context: AttemptContext): Settlement =>
  isMachineProblem(why) ? retryAfterLease(why, context) : { state: 'failed', detail: why };

/** Tells the database how the attempt has ended. Tries as long as the claim holds: the database may be down. */
export const settleWithRetries = async (
  { database, claim, held, stopping, counters, log }: AttemptContext,
  settlement: Settlement,
): Promise<void> => {
  while (!stopping.isLost()) {
    try {
      const isOurs = await settle(database, held(), await atDatabaseTime(database, settlement));
      const { state, detail } = settlement;
      const outcome = isOurs ? state : 'lost';
      counters.ended.set(outcome, (counters.ended.get(outcome) ?? 0) + 1);
      log(isOurs ? `${claim.id}: ${state}${detail ? ` (${detail})` : ''}` : `${claim.id}: lost`);
      return;
    } catch (error) {
      log(`${claim.id}: ${(error as Error).message}`);
      await delay(1000);
    }
  }
};

/** The clock of this machine may differ from that of the database, which decides when a wait is over. */
const atDatabaseTime = async (sql: Sql, settlement: Settlement): Promise<Settlement> => {
  const { availableAt } = settlement;
  if (availableAt === undefined) return settlement;
  const [row] = await sql.query<{ now: Date }>('select now() as now');
  return { ...settlement, availableAt: new Date(availableAt.getTime() - Date.now() + row!.now.getTime()) };
};
