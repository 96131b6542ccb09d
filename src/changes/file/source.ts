import { isFileInside, textInside } from '../../files/inside.ts';
import { changesWithRuns } from '../../store/runs.ts';
import { recordedSource } from '../recorded-source.ts';
import type { Change, ChangeSource } from '../source.ts';
import { formatOf } from './formats.ts';
import { idsOf } from './id.ts';
import { mayBeFile, pathIn, sourcePrefix } from './recorded.ts';

/*
 * A task file anywhere in the project (`spool ralph --file`).
 */

/** The files that were run before. One that was deleted counts as archived. */
export const fileSource: ChangeSource = {
  name: 'file',
  folder: '',
  list: (root) => recorded(root, (path) => isFile(root, path)),
  listArchived: (root) => recorded(root, (path) => !isFile(root, path)),
  archived: (root, id) => (recordedPath(root, id) === null ? null : fileSource.change(root, id)),
  change: (root, id) => fileChange(root, id, recordedPath(root, id) ?? ''),
};

const recorded = (root: string, isWanted: (path: string) => boolean): string[] =>
  changesWithRuns({ root }).filter((id) => {
    const path = recordedPath(root, id);
    return path !== null && isWanted(path);
  });

const isFile = (root: string, path: string): boolean => {
  try {
    return isFileInside(root, path);
  } catch {
    return false;
  }
};

/** state.json can be written by others: the path must be one that the ID was derived from. */
const recordedPath = (root: string, id: string): string | null => {
  if (!mayBeFile(id)) return null;
  const path = pathIn(recordedSource(root, id) ?? '');
  return path !== null && idsOf(path).includes(id) ? path : null;
};

/** Returns the ID of a file, which differs from those of other files that were run and from other changes. */
export const idOfFile = (root: string, path: string, isTaken: (id: string) => boolean): string => {
  const [short, long] = idsOf(path);
  const isFree = [null, `${sourcePrefix}${path}`].includes(recordedSource(root, short)) && !isTaken(short);
  return isFree && recordedSource(root, long) === null ? short : long;
};

export const fileChange = (root: string, id: string, path: string): Change => {
  const text = textIfPossible(root, path) ?? '';
  const format = formatOf(text, path);
  return {
    id,
    source: `${sourcePrefix}${path}`,
    module: null,
    folder: path,
    proposalFile: path,
    tasksFile: path,
    format,
    verify: format.commands(text),
    archiveFolder: null,
    planningFolders: [path, '.spool'],
    isExact: () => false,
    isTemplate: () => false,
    documents: () => [{ kind: 'proposal', path, name: path }],
    files: () => [],
    sections: () => [],
    warnings: () => [],
    planningPaths: () => [path],
  };
};

/** A file that cannot be read is reported when a run starts. */
const textIfPossible = (root: string, path: string): string | null => {
  try {
    return textInside(root, path);
  } catch {
    return null;
  }
};
