import { statSync } from 'node:fs';
import { join } from 'node:path';
import { wasCommittedSince } from '../../git/versions.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import type { Project } from '../../store/project.ts';
import { describeTampering } from '../../guard/guard.ts';
import { pluralise } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import { saveIntervalMs } from '../emitter.ts';
import type { RunContext } from '../context.ts';
import { pathIn, type RestoreContext, restoreInstructions } from './restore-instructions.ts';
import { stateFile } from '../../store/paths.ts';

/**
 * Returns the latest time at which the Spool of the last run may have been running. It saves its state at intervals.
 */
export const lastActivityOf = (project: Project, change: string): number | null => {
  const stats = statSync(stateFile(project, change), { throwIfNoEntry: false });
  return stats === undefined ? null : stats.mtimeMs + saveIntervalMs;
};

interface CrashedRun {
  readonly tree: WorkTree | null;
  readonly work: Project;
  readonly lastActivityMs: number | null;
  /** The number of its processes that were still running. */
  readonly leftovers: number;
}

/** Returns a function that tells whether a path was committed after the run, when no agent was left: by the user. */
export const commitsSince =
  ({ tree, work, lastActivityMs, leftovers }: CrashedRun) =>
  async (path: string): Promise<boolean> =>
    leftovers === 0 &&
    tree !== null &&
    lastActivityMs !== null &&
    wasCommittedSince(tree, pathIn(tree, join(work.root, path)), lastActivityMs);

/** Announces changes to the goal that are neither restored nor accepted, before the first agent starts. */
export const announceUnaccepted = async (
  context: RestoreContext & Pick<RunContext, 'emit' | 'redactor'>,
): Promise<void> => {
  const { guard, plan, emit, redactor } = context;
  const [first, ...more] = guard.unaccepted;
  if (first === undefined) return;
  const [instruction] = await restoreInstructions(context, [first]);
  const others = more.length === 0 ? '' : ` (and ${pluralise(more.length, 'more change')})`;
  const text = `Promises are rejected until the changed goal is restored or accepted: ${describeTampering(first, redactor)}${others}. To restore it: ${instruction}. To accept it: ${commandLine('spool', 'accept', plan.change)}`;
  emit({ type: 'notice', text });
};
