import { createFolder } from '../../files/folders.ts';
import { readJson } from '../../files/read.ts';
import { replaceSafely } from '../../files/safe.ts';
import { mapOf, object, oneOf, required, type Shape } from '../../text/shape.ts';
import { redFirstFile } from '../paths.ts';

/** What evidence did without the change. The keys identify the scenario, the evidence and the code. */
type RedFirstResults = Readonly<Record<string, 'failed' | 'absent' | 'passed'>>;

const shape: Shape<{ readonly v: 1; readonly results: RedFirstResults }> = object<{
  readonly v: 1;
  readonly results: RedFirstResults;
}>({
  v: required(oneOf([1])),
  results: required(mapOf(oneOf(['failed', 'absent', 'passed']))),
});

/** Old ones are dropped: the tests have changed since. */
const maxResults = 5000;

/** `record` is the folder of the change in the user's record. */
export const readRedFirst = (record: string): RedFirstResults => shape(readJson(redFirstFile(record)))?.results ?? {};

export const addRedFirst = (record: string, added: RedFirstResults): void => {
  const results = Object.fromEntries(Object.entries({ ...readRedFirst(record), ...added }).slice(-maxResults));
  createFolder(record);
  replaceSafely(redFirstFile(record), `${JSON.stringify({ v: 1, results })}\n`);
};
