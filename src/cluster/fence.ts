import { branchOf } from '../changes/branch.ts';
import { fetchRefs, pushRefs, readRemoteRefs, type Remote } from '../git/remote.ts';
import { messageOf, storeFiles } from '../git/stored-files.ts';
import { isObject, parseJson } from '../text/shape.ts';
import type { Claim } from './change-row.ts';
import type { Database } from './database.ts';
import { countRefusal, raiseEpoch, type Settlement } from './claims.ts';

/*
 * The fence of a change is a ref of the remote. Its commit names the owner of the change, and its files are the state of
 * the run. Each push of an owner replaces the fence together with the branch, all or nothing, and only if the remote still
 * has the fence that this owner pushed before. A worker that was cut off can therefore not overwrite its successor, even
 * if it never learns that it has one.
 */

export const fenceRef = (change: string): string => `refs/spool/runs/${keyOf(change)}`;
export const branchRef = (change: string): string => `refs/heads/${branchOf(change)}`;

/** Unlike an ID, valid in a ref and as the name of a folder. */
export const keyOf = (change: string): string => branchOf(change).slice('ralph/'.length);

/** Where the mirror keeps what it has fetched from the remote. */
export const mirrored = (change: string, what: 'fence' | 'branch' | 'next'): string =>
  `refs/spool/remote/${keyOf(change)}/${what}`;

/** What the message of a fence says. */
export interface FenceNote {
  readonly epoch: number;
  readonly owner: string;
  readonly run: string | null;
  /** The last message of the inbox that is in the state. */
  readonly inbox: number;
  /** The checkpoints of the run: their names and commits. */
  readonly checkpoints: readonly { readonly run: string; readonly name: string; readonly commit: string }[];
  /** The work tree in the middle of an iteration; null after one. */
  readonly work: string | null;
  /** How the attempt with this epoch has ended. Its worker may have been killed before the database knew. */
  readonly settled: { readonly epoch: number; readonly settlement: Settlement } | null;
}

export const fenceMessage = (change: string, note: FenceNote): string =>
  [
    `spool: ${change}, epoch ${note.epoch}`,
    '',
    `epoch ${note.epoch}`,
    `owner ${note.owner}`,
    ...(note.run === null ? [] : [`run ${note.run}`]),
    `inbox ${note.inbox}`,
    ...(note.work === null ? [] : [`work ${note.work}`]),
    ...(note.settled === null ? [] : [`settled ${note.settled.epoch} ${JSON.stringify(note.settled.settlement)}`]),
    ...note.checkpoints.map(({ run, name, commit }) => `checkpoint ${run} ${name} ${commit}`),
    '',
  ].join('\n');

/** Returns null if the message is not that of a fence. */
export const parseFence = (message: string): FenceNote | null => {
  const value = (name: string) => lineOf(message, name);
  const epoch = Number(value('epoch') ?? Number.NaN);
  if (!Number.isSafeInteger(epoch)) return null;
  return {
    epoch,
    owner: value('owner') ?? '',
    run: value('run'),
    inbox: Number(value('inbox') ?? 0),
    work: value('work'),
    settled: parseSettled(value('settled')),
    checkpoints: [...message.matchAll(/^checkpoint (\S+) (\S+) ([\da-f]+)$/gm)].map(([, run, name, commit]) => ({
      run: run!,
      name: name!,
      commit: commit!,
    })),
  };
};

const parseSettled = (line: string | null): FenceNote['settled'] => {
  const [, epoch, json] = /^(\d+) (.*)$/.exec(line ?? '') ?? [];
  const value = json === undefined ? undefined : parseJson(json);
  if (!isObject(value) || typeof value.state !== 'string') return null;
  const { state, detail, availableAt } = value;
  return {
    epoch: Number(epoch),
    settlement: {
      state: state as Settlement['state'],
      detail: typeof detail === 'string' ? detail : null,
      ...(typeof availableAt === 'string' && { availableAt: new Date(availableAt) }),
    },
  };
};

const lineOf = (message: string, name: string): string | null =>
  message
    .split('\n')
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1) ?? null;

/** The fence as this owner has pushed it last. */
export interface HeldFence {
  readonly claim: Claim;
  /** The commit of the fence. */
  readonly commit: string;
  readonly note: FenceNote;
  /** The commit of the branch on the remote; null if it has none. */
  readonly tip: string | null;
}

export type TakenFence =
  | ({ readonly kind: 'taken' } & HeldFence)
  | { readonly kind: 'lost'; readonly why: string }
  /** The remote cannot be reached now. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** The mirror on this machine cannot be written. */
  | { readonly kind: 'unstored'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string };

/** How often a fence is taken again if the previous owner pushed meanwhile. */
const maxTries = 5;

/**
 * Replaces the fence of the previous owner. What that owner has pushed until then is what this one continues. Calls
 * `onRaised` if the claim gets a higher epoch.
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
    const before = found.note;
    if (before !== null && before.epoch >= claim.epoch && !isOwn) {
      const raised = await raiseEpoch(database, claim, before.epoch);
      if (raised === null) return { kind: 'lost', why: 'another worker has taken it' };
      claim = raised;
      onRaised(raised);
    }
    const isNew = startsAnew(claim);
    const note: FenceNote = {
      epoch: claim.epoch,
      owner: claim.owner,
      run: isNew ? null : (before?.run ?? null),
      inbox: before?.inbox ?? 0,
      work: isNew ? null : (before?.work ?? null),
      settled: isNew ? null : (before?.settled ?? null),
      checkpoints: isNew ? [] : (before?.checkpoints ?? []),
    };
    const stored = await storeFiles({
      mirror: remote.mirror,
      ref: mirrored(claim.id, 'next'),
      base: isNew ? null : found.commit,
      files: new Map(),
      message: fenceMessage(claim.id, note),
      // A new run replaces the branch. What was on it stays reachable.
      parents: [found.commit, isNew ? found.tip : null].filter((commit) => commit !== null),
    });
    if ('why' in stored) return { kind: 'unstored', why: stored.why };
    const announced = { fence: stored.commit, tip: null, before: { fence: found.commit, tip: found.tip } };
    if (!(await announce(database, claim, announced))) return { kind: 'lost', why: 'another worker has taken it' };
    const pushed = await pushRefs(remote, [
      { name: fenceRef(claim.id), commit: stored.commit, expected: found.commit },
    ]);
    if (pushed.kind === 'denied')
      return {
        kind: 'failed',
        why: `the remote does not accept ${fenceRef(claim.id)}, which workers need: ${pushed.why}`,
      };
    if (pushed.kind === 'pushed') {
      await confirm(database, claim);
      return { kind: 'taken', claim, commit: stored.commit, note, tip: found.tip };
    }
    own.add(stored.commit);
    if (pushed.kind === 'unknown' && attempt === maxTries - 1)
      return { kind: 'unreachable', why: `nothing can be pushed to the remote: ${pushed.why}` };
  }
  return { kind: 'unreachable', why: 'other workers keep changing its fence' };
};

interface FoundFence {
  readonly commit: string | null;
  readonly note: FenceNote | null;
  readonly tip: string | null;
}

/**
 * Reads the fence and the branch of a change, and fetches both into the mirror. `changed` if another worker has pushed
 * meanwhile.
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
  if (commit === null) return { commit, tip, note: null };
  const message = await messageOf(remote.mirror, commit);
  return message === null ? 'changed' : { commit, tip, note: parseFence(message) };
};

/** A person has asked for a new run, and no worker has begun it. */
export const startsAnew = ({ request, run }: Claim): boolean => request.fresh && run === null;

/**
 * An agent that may push could write a fence, and with it the state that the next worker continues. Only what a worker
 * has announced in the database is continued.
 */
const unknownFence = (claim: Claim, { commit, note }: FoundFence): string | null => {
  if (commit === null || startsAnew(claim)) return null;
  if (note !== null && [claim.fence, ...claim.open_fences].includes(commit)) return null;
  return `the state in ${fenceRef(claim.id)} was not written by a worker of this queue: start again with "spool queue add ${claim.id} --fresh"`;
};

interface Announced {
  readonly fence: string;
  /** null if the branch stays as it is. */
  readonly tip: string | null;
  /** What the remote has now. */
  readonly before: { readonly fence: string | null; readonly tip: string | null };
}

/** Says in the database what is about to be pushed. Returns false if another worker owns the change. */
const announce = async (database: Database, claim: Claim, { fence, tip, before }: Announced): Promise<boolean> => {
  const rows = await database.query(
    `update spool.change set fence = $4, next_fence = $5, tip = $6, next_tip = $7, updated_at = now(),
       open_fences = array_append(array_remove(open_fences, $5), $5)
     where project = $1 and id = $2 and epoch = $3 and state = 'running' returning id`,
    [claim.project, claim.id, claim.epoch, before.fence, fence, before.tip, tip ?? before.tip],
  );
  return rows.length > 0;
};

/**
 * Says in the database that what was announced is on the remote. If it cannot be told, the next announcement does.
 * Everything that was announced before expects another fence on the remote, so it cannot be pushed any more.
 */
const confirm = async (database: Database, claim: Claim): Promise<void> => {
  await database
    .query(
      `update spool.change set fence = next_fence, tip = next_tip, open_fences = '{}'
       where project = $1 and id = $2 and epoch = $3`,
      [claim.project, claim.id, claim.epoch],
    )
    .catch(() => {});
};

export interface FencePush {
  readonly held: HeldFence;
  /** The new commit of the fence, which the mirror has. */
  readonly commit: string;
  /** The new commit of the branch; null to leave the branch unchanged. */
  readonly tip: string | null;
}

export type PushedFence =
  | { readonly kind: 'pushed' }
  /** Another worker owns the change: the database or the remote has refused the push. */
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
  if (!(await announce(database, claim, announced))) return refuse(database, claim, 'another worker has taken it');
  const refs = [
    { name: fenceRef(claim.id), commit, expected: held.commit },
    ...(tip === null ? [] : [{ name: branchRef(claim.id), commit: tip, expected: held.tip }]),
  ];
  const pushed = await pushRefs(remote, refs);
  if (pushed.kind === 'pushed') {
    await confirm(database, claim);
    return { kind: 'pushed' };
  }
  if (pushed.kind === 'denied')
    return {
      kind: 'conflict',
      why: `the remote refuses what the worker pushes to ${branchOf(claim.id)}: ${pushed.why}`,
    };
  const read = await readRemoteRefs(remote, [fenceRef(claim.id)]);
  if (!read.ok) return { kind: 'failed', why: pushed.why };
  const now = read.refs.get(fenceRef(claim.id)) ?? null;
  if (now === commit) {
    await confirm(database, claim);
    return { kind: 'pushed' };
  }
  if (now !== held.commit) {
    return refuse(database, claim, 'the remote has the fence of another worker');
  }
  return pushed.kind === 'moved'
    ? { kind: 'conflict', why: `${branchOf(claim.id)} was changed on the remote by someone else` }
    : { kind: 'failed', why: pushed.why };
};

/** Whether it can be counted or not, the push was refused. */
const refuse = async (database: Database, claim: Claim, why: string): Promise<PushedFence> => {
  await countRefusal(database, claim, why).catch(() => {});
  return { kind: 'lost', why };
};
