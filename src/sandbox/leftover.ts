import { join } from 'node:path';
import { userFolder } from '../files/home.ts';
import { createFolder, entriesOf } from '../files/folders.ts';
import { readSafely, removeSafely, replaceSafely } from '../files/safe.ts';
import { systemProblem } from '../errors.ts';
import { processStart } from '../process/start-time.ts';
import { count, listOf, object, orNull, parseJson, required, type Shape, text } from '../text/shape.ts';
import { type AbsentPath, quarantinePlanted } from './planted.ts';

/**
 * Paths that must not be created while a process is in the sandbox. Written for the next Spool, in case this one is
 * killed before it checks them.
 */
interface Note {
  readonly pid: number;
  readonly start: string | null;
  readonly absent: readonly AbsentPath[];
}

/** Writes a note, until the returned function is called. */
export const saveAbsent = (env: NodeJS.ProcessEnv, absent: readonly AbsentPath[]): (() => void) => {
  const folder = folderOf(env);
  const file = join(folder, `${crypto.randomUUID()}.json`);
  const note: Note = { pid: process.pid, start: processStart(process.pid), absent };
  createFolder(folder);
  replaceSafely(file, JSON.stringify(note));
  return () => removeSafely(file);
};

/**
 * Moves away protected paths that were created in sandboxes whose Spool was killed. Returns a line for each, and for
 * each unreadable note, as after a full disk.
 */
export const quarantineLeftovers = (env: NodeJS.ProcessEnv): string[] => {
  const folder = folderOf(env);
  return attempt(folder, () => entriesOf(folder).filter(({ name }) => name.endsWith('.json'))).flatMap((entry) =>
    typeof entry === 'string' ? [entry] : attempt(join(folder, entry.name), quarantine),
  );
};

const folderOf = (env: NodeJS.ProcessEnv): string => join(userFolder(env), 'sandbox');

const quarantine = (file: string): string[] => {
  const content = readSafely(file)?.toString('utf8');
  // Another Spool has just handled it.
  if (content === undefined) return [];
  const note = noteShape(parseJson(content));
  if (note === undefined) return [failed(file, 'its record is damaged')];
  if (processStart(note.pid) === note.start) return [];
  const lines = quarantinePlanted(note.absent);
  removeSafely(file);
  return lines;
};

const noteShape: Shape<Note> = object<Note>({
  pid: required(count),
  start: required(orNull(text)),
  absent: required(listOf(object<AbsentPath>({ path: required(text), way: required(listOf(text)) }))),
});

/** Returns a line instead of throwing: no command may fail because of leftovers of another one. */
const attempt = <Result>(path: string, work: (path: string) => Result[]): (Result | string)[] => {
  try {
    return work(path);
  } catch (error) {
    return [failed(path, systemProblem(error))];
  }
};

const failed = (path: string, why: string): string =>
  `Cannot clean up after a sandbox that was killed (${why}). Look for new .git folders, hooks and settings in the project, then delete ${path}.`;
