import { existsSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { entriesOf } from '../../files/folders.ts';
import { readJson, readText } from '../../files/read.ts';
import { checkInside, isFolderInside } from '../../files/inside.ts';
import { replaceSafely } from '../../files/safe.ts';
import { moveInside, removeEmptyInside, removeInside, replaceInside } from '../../files/write-inside.ts';
import { archiveJournalFile } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import {
  forgetArchiveJournal,
  isRecordedJournal,
  recordArchiveJournal,
} from '../../store/user-state/archive-journal.ts';
import { listOf, object, oneOf, orNull, required, type Shape, text } from '../../text/shape.ts';
import { archivePathOf } from './folder.ts';
import type { Change } from '../source.ts';
import { changeAt } from '../sources.ts';
import { readSpec } from '../spec-files.ts';

/*
 * Archiving writes several files and moves a folder. Everything that it is about to do is first written to one file, so
 * that the next command can finish it if the process is killed.
 */

export interface SpecWrite {
  /** Of a main spec, relative to the root. */
  readonly path: string;
  /** Its text; null for a file that does not exist. */
  readonly before: string | null;
  readonly after: string | null;
}

export interface ArchiveJournal {
  readonly v: 1;
  readonly change: string;
  /** The folder of the change before and after, relative to the root. */
  readonly from: string;
  readonly to: string;
  readonly writes: readonly SpecWrite[];
}

/** From here on the change counts as archived: what is missing is done by the next command. */
export const writeJournal = (project: Project, env: NodeJS.ProcessEnv, journal: ArchiveJournal): void => {
  const text = `${JSON.stringify(journal, null, 2)}\n`;
  recordArchiveJournal(project, env, text);
  replaceSafely(archiveJournalFile(project), text);
};

/** Does everything in the journal that is not done yet. */
export const applyJournal = ({ root }: Project, { from, to, writes }: ArchiveJournal): void => {
  for (const write of writes) applyWrite(root, write);
  if (existsSync(join(root, from))) moveInside(root, from, to);
};

const applyWrite = (root: string, { path, after }: SpecWrite): void => {
  removeDrafts(root, path);
  if (after === null) {
    removeInside(root, path);
    removeEmptyInside(root, dirname(path));
    return;
  }
  if (readSpec(root, path) !== after) replaceInside(root, path, after);
};

/** Deletes the journal, and what killed processes have left beside it. */
export const dropJournal = (project: Project, env: NodeJS.ProcessEnv): void => {
  const file = relative(project.root, archiveJournalFile(project));
  removeDrafts(project.root, file);
  removeInside(project.root, file);
  forgetArchiveJournal(project, env);
};

/** Deletes what `replaceInside` leaves if it is killed. */
const removeDrafts = (root: string, file: string): void => {
  const folder = dirname(file);
  const start = `${basename(file)}.`;
  if (!isFolderInside(root, folder)) return;
  for (const { name } of entriesOf(join(root, folder)))
    if (name.startsWith(start) && uuid.test(name.slice(start.length))) removeInside(root, join(folder, name));
};

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Finishes what a killed process has left, and deletes its journal. Returns a line for the user; null if there was
 * nothing to finish. The caller holds the lock.
 */
export const finishJournal = async (project: Project, env: NodeJS.ProcessEnv): Promise<string | null> => {
  if (!isOwnJournal(project, env)) return ignoredNotice(project);
  const journal = await readJournal(project);
  const notice = journal && finish(project, journal);
  dropJournal(project, env);
  return notice;
};

/** Whether Spool has written the journal here. One that came with a clone is not finished. */
const isOwnJournal = (project: Project, env: NodeJS.ProcessEnv): boolean =>
  isRecordedJournal(project, env, readText(archiveJournalFile(project)) ?? '');

const ignoredNotice = (project: Project): string =>
  `${relative(project.root, archiveJournalFile(project))} is ignored: Spool has not written it on this machine. Delete it. If "spool archive" was interrupted on another machine, archive the change again.`;

const finish = (project: Project, journal: ArchiveJournal): string => {
  const { change, to } = journal;
  const obstacle = obstacleTo(project, journal);
  if (obstacle !== null)
    return `Archiving ${change} was interrupted, and ${obstacle} was changed since. Archive it again: spool archive ${change}`;
  applyJournal(project, journal);
  return `Finished archiving ${change} as ${to}, which was interrupted.`;
};

/**
 * The first main spec that someone has edited since the journal was written, or the folder that is in the way; null if
 * there is none.
 */
const obstacleTo = ({ root }: Project, { from, to, writes }: ArchiveJournal): string | null => {
  const edited = writes.find(({ path, before, after }) => ![before, after].includes(readSpec(root, path)));
  if (edited !== undefined) return edited.path;
  checkInside(root, from);
  checkInside(root, to);
  return existsSync(join(root, from)) && existsSync(join(root, to)) ? to : null;
};

/** Returns null if there is no journal, or one that does more than archive a change. */
const readJournal = async (project: Project): Promise<ArchiveJournal | null> => {
  const journal = parseJournal(readJson(archiveJournalFile(project)));
  if (journal === undefined) return null;
  const change = await changeAt(project, journal.from);
  return change !== null && onlyArchives(journal, change) ? journal : null;
};

/** Whether a journal does nothing but move the change to its archive and write main specs. */
const onlyArchives = ({ to, writes }: ArchiveJournal, change: Change): boolean => {
  if (change.specs === undefined || change.archiveFolder === null) return false;
  const main = change.specs.main.replaceAll('\\', '/');
  const isMainSpec = ({ path }: SpecWrite) => path.startsWith(`${main}/`) && path.endsWith('/spec.md');
  return dirname(to) === dirname(archivePathOf(change)) && writes.every(isMainSpec);
};

const parseJournal: Shape<ArchiveJournal> = object<ArchiveJournal>({
  v: required(oneOf([1])),
  change: required(text),
  from: required(text),
  to: required(text),
  writes: required(
    listOf(object<SpecWrite>({ path: required(text), before: required(orNull(text)), after: required(orNull(text)) })),
  ),
});
