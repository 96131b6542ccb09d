import { userError } from '../errors.ts';

/** Sorted, each once. Throws for a label that is not `name=value`. */
export const labelsOf = (value: unknown): string[] => {
  const labels = value === undefined ? [] : ([value].flat() as string[]);
  const wrong = labels.find((label) => !/^[\w.-]{1,60}=[\w.:/@-]{1,100}$/.test(label));
  if (wrong !== undefined) throw userError('bad-value', '--label', 'must be name=value, such as agent=claude', wrong);
  return [...new Set(labels)].toSorted();
};
