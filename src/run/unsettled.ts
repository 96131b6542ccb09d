import { statSync } from 'node:fs';
import { join } from 'node:path';
import { wasCommittedSince } from '../git/versions.ts';
import type { WorkTree } from '../git/worktree.ts';
import type { Project } from '../store/project.ts';
import { describeTampering } from '../guard/guard.ts';
import { ralphFolder } from '../store/state.ts';
import { pluralise } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import { beatMs } from './emitter.ts';
import type { RunContext } from './context.ts';
import { pathIn, type RestoreContext, waysBack } from './restore.ts';

/** Until when the Spool of the last run may have lived: it writes its state down again and again. */
export const lastActivityOf = (project: Project, change: string): number | null => {
  const stats = statSync(join(ralphFolder(project, change), 'state.json'), { throwIfNoEntry: false });
  return stats === undefined ? null : stats.mtimeMs + beatMs;
};

interface CrashedRun {
  readonly tree: WorkTree | null;
  readonly work: Project;
  readonly lastActivityMs: number | null;
  /** How many processes of it were still there. */
  readonly leftovers: number;
}

/** What was committed after that, and no agent was left, is a person's. */
export const commitsSince =
  ({ tree, work, lastActivityMs, leftovers }: CrashedRun) =>
  async (path: string): Promise<boolean> =>
    leftovers === 0 &&
    tree !== null &&
    lastActivityMs !== null &&
    wasCommittedSince(tree, pathIn(tree, join(work.root, path)), lastActivityMs);

/** Says what is not as it should be before the first agent starts, and both ways to put that right. */
export const announceUnsettled = async (context: RestoreContext & Pick<RunContext, 'emit'>): Promise<void> => {
  const { guard, plan, emit } = context;
  const [first, ...more] = guard.unsettled;
  if (first === undefined) return;
  const [way] = await waysBack(context, [first]);
  const others = more.length === 0 ? '' : ` (and ${pluralise(more.length, 'more change')})`;
  const text = `Promises are rejected until the changed goal is restored or accepted: ${describeTampering(first)}${others}. To restore it: ${way}. To accept it: ${commandLine('spool', 'accept', plan.change)}`;
  emit({ type: 'notice', text });
};
