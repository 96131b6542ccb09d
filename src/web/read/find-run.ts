import { asUserError, UserError } from '../../errors.ts';
import { runsOf } from '../../store/runs.ts';
import { notFound } from '../http/refusal.ts';
import type { RemoteRun } from '../remote.ts';
import { knownChange, knownRun } from './known-ids.ts';
import { localRun, type LocalReaders } from './local-run.ts';
import { remoteRun } from './remote-run.ts';
import type { RunSource } from './run-source.ts';
import type { Subject } from './subject.ts';

/** Finds a run by the ids of a request, on this machine or in the queue. `latest` is the latest run of the change. */
export const findRun = async (readers: LocalReaders, givenChange: string, givenRun: string): Promise<RunSource> => {
  const { project, rowOf } = readers;
  const change = await knownChange(readers, givenChange);
  const remote = await findRemote(readers, change);
  const remoteId = remote instanceof UserError ? null : (remote?.view?.run ?? null);
  if (remoteId !== null && (givenRun === 'latest' || givenRun === remoteId))
    return remoteRun(readers, { change, run: remoteId, find: () => askQueue(readers, change) });
  const run = givenRun === 'latest' ? (await rowOf(change))?.run : givenRun;
  // Without the queue, the runs of this machine are shown. Whether it has the others is not known.
  if (remote instanceof UserError && !(run && runsOf(project, change).includes(run))) throw remote;
  if (!run) throw notFound(`${change} has no run yet.`);
  return localRun(readers, change, knownRun(readers, change, run));
};

/** Returns what the queue has of a change; null if it has nothing, and why it could not be asked. */
export const findRemote = async (subject: Subject, change: string): Promise<RemoteRun | UserError | null> => {
  try {
    return await askQueue(subject, change);
  } catch (error) {
    const known = asUserError(error);
    if (known === null) throw error;
    return known;
  }
};

const askQueue = async ({ remote }: Subject, change: string): Promise<RemoteRun | null> =>
  (await remote?.find(change)) ?? null;
