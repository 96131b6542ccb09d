/*
 * What a run records of a task file: its path, as the source `file:docs/plans/x.md`, which is part of what identifies the
 * run. Most projects have no such runs and load only this.
 */

export const sourcePrefix = 'file:';

/** The path in the source of a run; null if that is another source. */
export const pathIn = (source: string): string | null => {
  const path = source.startsWith(sourcePrefix) ? source.slice(sourcePrefix.length) : '';
  return isTaskPath(path) ? path : null;
};

/** Whether a change with this ID can be a task file. */
export const mayBeFile = (id: string): boolean => /^[a-z0-9-]+$/.test(id);

/** Whether a path, relative to the project, can be that of a task file. Keys of the guard have `::` in them. */
export const isTaskPath = (path: string): boolean =>
  path.split('/').every((name) => name !== '' && name !== '..' && name !== '.' && name !== '.git') &&
  !path.startsWith('.spool/') &&
  !/::|[\u0000-\u001f\u007f\\]/.test(path);
