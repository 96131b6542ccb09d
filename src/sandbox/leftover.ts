import { join } from 'node:path';
import { userFolder } from '../files/home.ts';
import { createFolder, entriesOf, readOwn, removeOwn, replaceOwn } from '../files/own.ts';
import { parseJsonText } from '../text/json.ts';
import { processStart } from '../process/start-time.ts';
import { type AbsentPath, setPlantedAside } from './planted.ts';

/** What must not come into being while a process is inside; for the next Spool, when this one is killed before it looks. */
interface Note {
  readonly pid: number;
  readonly start: string | null;
  readonly absent: readonly AbsentPath[];
}

/** Until the function that it answers with is called. */
export const noteAbsent = (env: NodeJS.ProcessEnv, absent: readonly AbsentPath[]): (() => void) => {
  const folder = folderOf(env);
  const file = join(folder, `${crypto.randomUUID()}.json`);
  const note: Note = { pid: process.pid, start: processStart(process.pid), absent };
  createFolder(folder);
  replaceOwn(file, JSON.stringify(note));
  return () => removeOwn(file);
};

/** Moves away what was created in sandboxes whose Spool was killed; answers with a line for each. */
export const settleLeftovers = (env: NodeJS.ProcessEnv): string[] =>
  entriesOf(folderOf(env))
    .filter(({ name }) => name.endsWith('.json'))
    .map(({ name }) => join(folderOf(env), name))
    .flatMap((file) => {
      const note = readNote(file);
      if (note === null || processStart(note.pid) === note.start) return [];
      const lines = setPlantedAside(note.absent);
      removeOwn(file);
      return lines;
    });

const folderOf = (env: NodeJS.ProcessEnv): string => join(userFolder(env), 'sandbox');

/** null when another Spool has settled it just now. */
const readNote = (file: string): Note | null => {
  const text = readOwn(file)?.toString('utf8');
  return text === undefined ? null : (parseJsonText(text) as Note);
};
