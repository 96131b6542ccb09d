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

/** `userState` is the folder of the change in the user's state folder. */
export const readRedFirst = (userState: string): RedFirstResults =>
  shape(readJson(redFirstFile(userState)))?.results ?? {};

export const addRedFirst = (userState: string, added: RedFirstResults): void => {
  const results = Object.fromEntries(Object.entries({ ...readRedFirst(userState), ...added }).slice(-maxResults));
  createFolder(userState);
  replaceSafely(redFirstFile(userState), `${JSON.stringify({ v: 1, results })}\n`);
};
