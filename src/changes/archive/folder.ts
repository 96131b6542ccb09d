import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { userError } from '../../errors.ts';
import { foldersInside, statsIfInside } from '../../files/inside.ts';
import { ralphFolder } from '../../store/paths.ts';
import { localDay } from '../../text/format.ts';
import type { Change } from '../source.ts';

const date = /^\d{4}-\d{2}-\d{2}-/;

/** An archive that is a link has no changes. It must not keep other commands from working. */
const namesIn = (root: string, archive: string): string[] =>
  statsIfInside(root, archive)?.isDirectory() ? foldersInside(root, archive) : [];

/** The ids of the changes in an archive, whose folders begin with a date. One that was run with such an id gets no second date. */
export const archivedIds = (root: string, archive: string): string[] => {
  const hasRuns = (id: string) => existsSync(ralphFolder({ root }, id));
  return namesIn(root, archive).map((name) => {
    const short = name.replace(date, '');
    return hasRuns(name) && !hasRuns(short) ? name : short;
  });
};

/** The folder of an archived change; null if there is none. The latest one wins. */
export const archivedFolder = (root: string, archive: string, id: string): string | null => {
  const name = namesIn(root, archive).findLast((each) => each === id || each.replace(date, '') === id);
  return name === undefined ? null : join(archive, name);
};

/** Where a change is moved to when it is archived today, relative to the root. A name that begins with a day keeps it. */
export const archivePathOf = ({ id, source, folder, archiveFolder }: Change): string => {
  if (archiveFolder === null) throw userError('no-archive', id, source);
  const name = basename(folder);
  return join(archiveFolder, date.test(name) ? name : `${localDay(new Date())}-${name}`);
};
