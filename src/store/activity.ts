import { statsOf } from '../files/read.ts';
import type { RunEvent } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import { parseJournalLine } from './event-format.ts';
import { linesFromEnd } from './history.ts';
import { journalFile, stateFile } from './paths.ts';
import type { Project } from './project.ts';

/** The last thing that a run did, in words. */
export interface Activity {
  readonly text: string;
  readonly at: string;
}

/** How far back it is looked for. */
const maxBytes = 256 * 1024;
const maxLines = 500;

/** Describes the last event of the journal that has a description. Returns null if there is none, or it cannot be read. */
export const lastActivity = (
  project: Project,
  { change, run }: Pick<RunView, 'change' | 'run'>,
  describe: (event: RunEvent) => string | null,
): Activity | null => {
  let left = maxLines;
  try {
    for (const line of linesFromEnd(journalFile(project, change, run), maxBytes)) {
      if (line === null || left-- === 0) return null;
      const found = line === '' ? undefined : parseJournalLine(line);
      const text = found && describe(found.event);
      if (found && text) return { text, at: found.at };
    }
  } catch {
    // Something else is in its place. Only the text is lost.
  }
  return null;
};

/** How long a run that is running has run. The saved time is that of the last write of state.json. */
export const elapsedNow = (project: Project, view: RunView, now: Date): number => {
  const savedAt = statsOf(stateFile(project, view.change))?.mtimeMs ?? now.getTime();
  return Math.round(view.elapsedMs + Math.max(0, now.getTime() - savedAt));
};
