import { listArchived, listChanges } from '../../changes/sources.ts';
import { changesWithRuns, runsOf } from '../../store/runs.ts';
import { runId } from '../../store/run-id.ts';
import { badRequest, notFound } from '../http/refusal.ts';
import type { Subject } from './subject.ts';

/*
 * Ids from requests. None becomes part of a path before it was found in a list of what there is.
 */

/** Returns the id of a change of this project, or of its queue; rejects any other text. */
export const knownChange = async ({ project, remote }: Subject, given: string): Promise<string> => {
  const isKnown = (ids: readonly string[]) => ids.includes(given);
  if (isKnown(await listChanges(project)) || isKnown(changesWithRuns(project)) || isKnown(await listArchived(project)))
    return given;
  if (remote !== null && (await remote.find(given)) !== null) return given;
  throw notFound('There is no such change.');
};

/** Returns the id of a run of a change that has files here; rejects any other text. */
export const knownRun = ({ project }: Subject, change: string, given: string): string => {
  if (runId.test(given) && runsOf(project, change).includes(given)) return given;
  throw notFound('There is no such run, or its files were deleted.');
};

/** Returns the number of an iteration; rejects any other text. */
export const iterationNumber = (given: string): number => {
  if (!/^[1-9]\d{0,7}$/.test(given)) throw badRequest('An iteration is a number, starting at 1.');
  return Number(given);
};

/** Returns a whole number from a query; `fallback` if it is missing. */
export const wholeNumber = (query: URLSearchParams, name: string, fallback: number): number => {
  const given = query.get(name);
  if (given === null) return fallback;
  if (!/^\d{1,15}$/.test(given)) throw badRequest(`"${name}" must be a whole number.`);
  return Number(given);
};

/** Returns the name of a checkpoint, such as `7` or `r1`; rejects any other text. */
export const checkpointName = (given: string | null): string | null => {
  if (given !== null && !/^(?:\d{1,8}|r\d{1,8})$/.test(given))
    throw badRequest('A checkpoint is an iteration such as 7, or r1.');
  return given;
};
