import { fetchRefs, pushRefs, readRemoteRefs, type Remote } from '../git/remote.ts';
import { messageOf, storeFiles } from '../git/stored-files.ts';
import { announceFence, confirmFence } from './announce-fence.ts';
import type { Claim } from './change-row.ts';
import { raiseEpoch } from './claims.ts';
import type { Database } from './database.ts';
import {
  branchRef,
  fenceMessage,
  type FenceData,
  fenceRef,
  type HeldFence,
  mirrored,
  parseFence,
  startsNewRun,
} from './fence.ts';

export type TakenFence =
  | ({ readonly kind: 'taken' } & HeldFence)
  | { readonly kind: 'lost'; readonly why: string }
  /** The remote cannot be reached now. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** The mirror on this machine cannot be written. */
  | { readonly kind: 'unstored'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string };

/** How often a fence is taken again if the previous owner has pushed in the meantime. */
const maxTries = 5;

/**
 * Replaces the fence of the previous owner, and continues from the last state that it pushed. Calls `onRaised` if the
 * claim gets a higher epoch.
 */
export const takeFence = async (
  database: Database,
  remote: Remote,
  { claim: given, onRaised }: { readonly claim: Claim; readonly onRaised: (claim: Claim) => void },
): Promise<TakenFence> => {
  let claim = given;
  /** Pushed by this call, without an answer of the remote. */
  const own = new Set<string>();
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const found = await readFence(remote, claim.id);
    if (found === 'changed') continue;
    if ('why' in found) return { kind: 'unreachable', why: `the remote cannot be read: ${found.why}` };
    const isOwn = found.commit !== null && own.has(found.commit);
    const unknown = isOwn ? null : unknownFence(claim, found);
    if (unknown !== null) return { kind: 'failed', why: unknown };
    const before = found.data;
    if (before !== null && before.epoch >= claim.epoch && !isOwn) {
      const raised = await raiseEpoch(database, claim, before.epoch);
      if (raised === null) return { kind: 'lost', why: 'another worker has taken it' };
      claim = raised;
      onRaised(raised);
    }
    const data = dataAfter(before, claim);
    const stored = await storeFence(remote, { claim, data, found });
    if ('why' in stored) return { kind: 'unstored', why: stored.why };
    const announced = { fence: stored.commit, tip: null, before: { fence: found.commit, tip: found.tip } };
    if (!(await announceFence(database, claim, announced))) return { kind: 'lost', why: 'another worker has taken it' };
    const pushed = await pushRefs(remote, [
      { name: fenceRef(claim.id), commit: stored.commit, expected: found.commit },
    ]);
    if (pushed.kind === 'denied')
      return {
        kind: 'failed',
        why: `the remote does not accept ${fenceRef(claim.id)}, which workers need: ${pushed.why}`,
      };
    if (pushed.kind === 'pushed') {
      await confirmFence(database, claim);
      return { kind: 'taken', claim, commit: stored.commit, data, tip: found.tip };
    }
    own.add(stored.commit);
    if (pushed.kind === 'unknown' && attempt === maxTries - 1)
      return { kind: 'unreachable', why: `nothing can be pushed to the remote: ${pushed.why}` };
  }
  return { kind: 'unreachable', why: 'other workers keep changing its fence' };
};

/** The data of a new owner, which continues the run unless a new one was asked for. */
const dataAfter = (before: FenceData | null, claim: Claim): FenceData => {
  const { epoch, owner } = claim;
  const empty = { epoch, owner, run: null, inbox: before?.inbox ?? 0, work: null, settled: null, checkpoints: [] };
  return before === null || startsNewRun(claim) ? empty : { ...before, epoch, owner };
};

interface NewFence {
  readonly claim: Claim;
  readonly data: FenceData;
  /** What it replaces. */
  readonly found: FoundFence;
}

const storeFence = ({ mirror }: Remote, { claim, data, found }: NewFence) => {
  const isNew = startsNewRun(claim);
  return storeFiles({
    mirror,
    ref: mirrored(claim.id, 'next'),
    base: isNew ? null : found.commit,
    files: new Map(),
    message: fenceMessage(claim.id, data),
    // A new run replaces the branch. What was on it stays reachable.
    parents: [found.commit, isNew ? found.tip : null].filter((commit) => commit !== null),
  });
};

interface FoundFence {
  readonly commit: string | null;
  readonly data: FenceData | null;
  readonly tip: string | null;
}

/**
 * Reads the fence and the branch of a change, and fetches both into the mirror. `changed` if another worker has pushed
 * in the meantime.
 */
const readFence = async (
  remote: Remote,
  change: string,
): Promise<FoundFence | { readonly why: string } | 'changed'> => {
  const [fence, branch] = [fenceRef(change), branchRef(change)];
  const read = await readRemoteRefs(remote, [fence, branch]);
  if (!read.ok) return { why: read.why };
  const [commit, tip] = [read.refs.get(fence) ?? null, read.refs.get(branch) ?? null];
  const wanted = [
    ...(commit === null ? [] : [`+${fence}:${mirrored(change, 'fence')}`]),
    ...(tip === null ? [] : [`+${branch}:${mirrored(change, 'branch')}`]),
  ];
  const problem = wanted.length === 0 ? null : await fetchRefs(remote, wanted);
  if (problem !== null) return { why: problem };
  if (commit === null) return { commit, tip, data: null };
  const message = await messageOf(remote.mirror, commit);
  return message === null ? 'changed' : { commit, tip, data: parseFence(message) };
};

/**
 * An agent that may push could write a fence, and with it the state that the next worker continues. Only what a worker
 * has announced in the database is continued.
 */
const unknownFence = (claim: Claim, { commit, data }: FoundFence): string | null => {
  if (commit === null || startsNewRun(claim)) return null;
  if (data !== null && [claim.fence, ...claim.open_fences].includes(commit)) return null;
  return `the state in ${fenceRef(claim.id)} was not written by a worker of this queue: start again with "spool queue add ${claim.id} --fresh"`;
};
