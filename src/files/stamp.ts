import type { BigIntStats, Stats } from 'node:fs';

type FileId = Pick<Stats, 'dev' | 'ino'> | Pick<BigIntStats, 'dev' | 'ino'>;

/** Identifies a file or folder regardless of its path. */
export const fileId = ({ dev, ino }: FileId): string => `${dev}/${ino}`;

/** Whether both are the same file or folder; false if one of them does not exist. */
export const isSameFile = (one: FileId | null | undefined, other: FileId | undefined): boolean =>
  other !== undefined && one?.dev === other.dev && one.ino === other.ino;

/**
 * Identifies a version of a file: changes if it is replaced or written to, even if a program sets its times, since none
 * can set the time of the last change of an inode. Empty if the file does not exist.
 */
export const stampOf = (stats: FileStats | undefined): string => {
  if (stats === undefined) return '';
  const { dev, ino, size, mtimeMs, ctimeMs } = stats;
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
};

type FileStats = Pick<Stats, 'dev' | 'ino' | 'size' | 'mtimeMs' | 'ctimeMs'>;
