import { branchOf } from '../changes/branch.ts';
import { isObject, parseJson } from '../text/shape.ts';
import type { Claim } from './change-row.ts';
import type { Settlement } from './claims.ts';

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
export interface FenceData {
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

export const fenceMessage = (change: string, data: FenceData): string =>
  [
    `spool: ${change}, epoch ${data.epoch}`,
    '',
    `epoch ${data.epoch}`,
    `owner ${data.owner}`,
    ...(data.run === null ? [] : [`run ${data.run}`]),
    `inbox ${data.inbox}`,
    ...(data.work === null ? [] : [`work ${data.work}`]),
    ...(data.settled === null ? [] : [`settled ${data.settled.epoch} ${JSON.stringify(data.settled.settlement)}`]),
    ...data.checkpoints.map(({ run, name, commit }) => `checkpoint ${run} ${name} ${commit}`),
    '',
  ].join('\n');

/** Returns null if the message is not that of a fence. */
export const parseFence = (message: string): FenceData | null => {
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

const parseSettled = (line: string | null): FenceData['settled'] => {
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
  readonly data: FenceData;
  /** The commit of the branch on the remote; null if it has none. */
  readonly tip: string | null;
}

/** A person has asked for a new run, and no worker has begun it. */
export const startsNewRun = ({ request, run }: Claim): boolean => request.fresh && run === null;
