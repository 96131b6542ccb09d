import { join } from 'node:path';
import { userFolder } from '../files/home.ts';
import { createFolder, entriesOf } from '../files/folders.ts';
import { readSafely, removeSafely, replaceSafely } from '../files/safe.ts';
import { systemProblem } from '../errors.ts';
import { processStart } from '../process/start-time.ts';
import { count, listOf, object, orNull, parseJson, required, type Shape, text } from '../text/shape.ts';
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
  replaceSafely(file, JSON.stringify(note));
  return () => removeSafely(file);
};

/**
 * Moves away what was created in sandboxes whose Spool was killed; answers with a line for each, and for each note that
 * says nothing, as after a full disk.
 */
export const settleLeftovers = (env: NodeJS.ProcessEnv): string[] => {
  const folder = folderOf(env);
  return attempt(folder, () => entriesOf(folder).filter(({ name }) => name.endsWith('.json'))).flatMap((entry) =>
    typeof entry === 'string' ? [entry] : attempt(join(folder, entry.name), settle),
  );
};

const folderOf = (env: NodeJS.ProcessEnv): string => join(userFolder(env), 'sandbox');

const settle = (file: string): string[] => {
  const content = readSafely(file)?.toString('utf8');
  // Another Spool has settled it just now.
  if (content === undefined) return [];
  const note = noteShape(parseJson(content));
  if (note === undefined) return [unsettled(file, 'it is damaged')];
  if (processStart(note.pid) === note.start) return [];
  const lines = setPlantedAside(note.absent);
  removeSafely(file);
  return lines;
};

const noteShape: Shape<Note> = object<Note>({
  pid: required(count),
  start: required(orNull(text)),
  absent: required(listOf(object<AbsentPath>({ path: required(text), way: required(listOf(text)) }))),
});

/** No command may fail for what is left of another one: a line in the place of the error. */
const attempt = <Result>(path: string, work: (path: string) => Result[]): (Result | string)[] => {
  try {
    return work(path);
  } catch (error) {
    return [unsettled(path, systemProblem(error))];
  }
};

const unsettled = (path: string, why: string): string =>
  `${path}, which says what a sandbox that was killed may have left behind, cannot be used (${why}): look for new .git folders, hooks and settings in the project, then delete it.`;
