import { readJson } from '../files/read.ts';
import { stateFile } from '../store/paths.ts';
import { isObject } from '../text/shape.ts';

/** The source of the last run with this ID; null if there is none. Others can write state.json: it proves nothing. */
export const recordedSource = (root: string, id: string): string | null => {
  const state = readJson(stateFile({ root }, id));
  return isObject(state) ? String(state.source ?? 'spool') : null;
};
