import { localTime } from '../text/format.ts';

/** What the name of an archived change begins with. */
export const archiveDate = /^\d{4}-\d{2}-\d{2}-/;

/** The local day and the id. An id that begins with a day is not changed. */
export const archivedName = (id: string, now: Date): string =>
  archiveDate.test(id) ? id : `${localTime(now.toISOString()).slice(0, 10)}-${id}`;
