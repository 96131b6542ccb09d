import { branchOf } from '../changes/branch.ts';
import { pushRefs, readRemoteRefs, type Remote } from '../git/remote.ts';
import { announceFence, confirmFence } from './announce-fence.ts';
import type { Claim } from './change-row.ts';
import { countRefusal } from './claims.ts';
import type { Database } from './database.ts';
import { branchRef, fenceRef, type HeldFence } from './fence.ts';

export interface FencePush {
  readonly held: HeldFence;
  /** The new commit of the fence, which the mirror has. */
  readonly commit: string;
  /** The new commit of the branch; null to leave the branch unchanged. */
  readonly tip: string | null;
}

export type PushedFence =
  | { readonly kind: 'pushed' }
  /** Another worker owns the change: the database or the remote has rejected the push. */
  | { readonly kind: 'lost'; readonly why: string }
  /** Someone else has changed the branch, or an agent has damaged the clone: it never succeeds. */
  | { readonly kind: 'conflict'; readonly why: string }
  /** It may succeed later. */
  | { readonly kind: 'failed'; readonly why: string };

/** Pushes the fence and the branch, both or neither. */
export const pushFence = async (database: Database, remote: Remote, push: FencePush): Promise<PushedFence> => {
  const { held, commit, tip } = push;
  const { claim } = held;
  const announced = { fence: commit, tip, before: { fence: held.commit, tip: held.tip } };
  if (!(await announceFence(database, claim, announced))) return refuse(database, claim, 'another worker has taken it');
  const refs = [
    { name: fenceRef(claim.id), commit, expected: held.commit },
    ...(tip === null ? [] : [{ name: branchRef(claim.id), commit: tip, expected: held.tip }]),
  ];
  const pushed = await pushRefs(remote, refs);
  if (pushed.kind === 'pushed') {
    await confirmFence(database, claim);
    return { kind: 'pushed' };
  }
  if (pushed.kind === 'denied')
    return {
      kind: 'conflict',
      why: `the remote rejected what the worker pushed to ${branchOf(claim.id)}: ${pushed.why}`,
    };
  const read = await readRemoteRefs(remote, [fenceRef(claim.id)]);
  if (!read.ok) return { kind: 'failed', why: pushed.why };
  const now = read.refs.get(fenceRef(claim.id)) ?? null;
  if (now === commit) {
    await confirmFence(database, claim);
    return { kind: 'pushed' };
  }
  if (now !== held.commit) {
    return refuse(database, claim, 'the remote has the fence of another worker');
  }
  return pushed.kind === 'moved'
    ? { kind: 'conflict', why: `${branchOf(claim.id)} was changed on the remote by someone else` }
    : { kind: 'failed', why: pushed.why };
};

/** The push was rejected, even if it cannot be counted. */
const refuse = async (database: Database, claim: Claim, why: string): Promise<PushedFence> => {
  await countRefusal(database, claim, why).catch(() => {});
  return { kind: 'lost', why };
};
