import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { userError } from '../errors.ts';
import { createFolder } from '../files/folders.ts';
import { foldersInside } from '../files/inside.ts';
import { renameSafely } from '../files/safe.ts';

const date = /^\d{4}-\d{2}-\d{2}-/;

/** The ids of the changes in an archive, whose folders begin with a date. */
export const archivedIds = (root: string, archive: string): string[] =>
  foldersInside(root, archive).map((name) => name.replace(date, ''));

/** The folder of an archived change; null if there is none. The latest one wins. */
export const archivedFolder = (root: string, archive: string, id: string): string | null => {
  const name = foldersInside(root, archive).findLast((each) => each === id || each.replace(date, '') === id);
  return name === undefined ? null : join(archive, name);
};

/** Moves a folder into an archive, with the date of today unless its name has one. Returns its new path. */
export const moveToArchive = (
  root: string,
  archive: string,
  { id, folder }: { id: string; folder: string },
): string => {
  const target = join(archive, date.test(id) ? id : `${today()}-${id}`);
  if (existsSync(join(root, target))) throw userError('already-archived', target);
  createFolder(join(root, archive));
  renameSafely(join(root, folder), join(root, target));
  return target;
};

/** The local date. */
const today = (): string => {
  const now = new Date();
  const pad = (number: number) => String(number).padStart(2, '0');
  return `${now.getFullYear()}-${pad(now.getMonth() + 1)}-${pad(now.getDate())}`;
};
