import { amendMessage, readCommit } from '../../git/amend.ts';
import { commitsOnHead } from '../../git/branches.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import type { Ledger } from '../../ralph/proof.ts';
import { shortCountText } from '../../ralph/proof-rows.ts';
import type { IterationRecord } from '../../ralph/record.ts';
import { readLedger, saveLedger } from '../../store/user-state/ledger.ts';
import type { RunContext } from '../context.ts';
import { differsByTrailer, withScenariosTrailer } from './trailers.ts';

type CommitProofContext = Pick<
  RunContext,
  'tree' | 'plan' | 'project' | 'env' | 'emit' | 'redactor' | 'stopSignals' | 'tag' | 'sandbox'
>;

/**
 * Adds the trailer `Scenarios: 3/3 proven` to the commit of an iteration whose gate has passed. Returns the record with
 * the commit that is on the branch then. If that is not possible, the commit stays as it is, and a notice says why.
 *
 * The branch moves in one step. If Spool is killed before it, a resume repeats the gate and this; if it is killed right
 * after, `withFinalCommit` finds the new commit.
 */
export const addProofToCommit = async (
  context: CommitProofContext,
  record: IterationRecord,
): Promise<IterationRecord> => {
  const { tree, emit, redactor, stopSignals, sandbox } = context;
  const { commit, gate, iteration } = record;
  const count = gate?.passed ? gate.proof?.count : undefined;
  if (tree === null || commit === null || count === undefined || count.total === 0) return record;
  const result = await amendMessage(tree, {
    commit,
    message: (current) => withScenariosTrailer(current, shortCountText(count)),
    kill: stopSignals.kill,
    tag: `${context.tag}/${iteration}`,
    sandbox,
  });
  if (result.kind === 'refused') {
    const why = redactor.oneLine(result.why, maxReason).replace(/\.$/, '');
    emit({ type: 'notice', text: `Commit ${commit.slice(0, 8)} does not name its proven scenarios: ${why}.` });
  }
  if (result.kind !== 'amended') return record;
  const of = { project: context.project, change: context.plan.change, env: context.env };
  const ledger = readLedger(of);
  if (ledger !== null) saveLedger(of, withCommit(ledger, [commit, result.commit]));
  return { ...record, commit: result.commit };
};

const maxReason = 200;

const withCommit = (ledger: Ledger, [from, to]: readonly [string, string]): Ledger => ({
  ...ledger,
  scenarios: ledger.scenarios.map((row) =>
    row.proof?.commit === from ? { ...row, proof: { ...row.proof, commit: to } } : row,
  ),
});

/** Returns an iteration whose gate was interrupted with the commit that is on the branch, if that was amended since. */
export const withFinalCommit = async (tree: WorkTree, pending: IterationRecord): Promise<IterationRecord> => {
  const { commit } = pending;
  if (commit === null) return pending;
  const onBranch = await commitsOnHead(tree.root, maxCommits);
  const before = onBranch.includes(commit) ? null : await readCommit(tree, commit);
  if (before === null) return pending;
  for (const candidate of onBranch) {
    const now = await readCommit(tree, candidate);
    if (now?.header === before.header && differsByTrailer(before.message, now.message))
      return { ...pending, commit: candidate };
  }
  return pending;
};

/** Commits that others may have added since. */
const maxCommits = 20;
