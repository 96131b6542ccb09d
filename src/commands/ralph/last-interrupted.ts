import { lastSaved } from '../../changes/tasks/current.ts';
import { userError } from '../../errors.ts';
import { currentStatus, type RunView } from '../../ralph/view.ts';
import { say } from '../../report/message.ts';
import type { Terminal } from '../../report/terminal.ts';
import type { Project } from '../../store/project.ts';
import { loopOwner } from '../../store/state.ts';
import { asRecorded } from '../../store/user-state/steps.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { someOf, timeAgo } from '../../text/format.ts';

interface ResumeRequest {
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
}

/** Returns the change whose run was interrupted last, and says which one it is. Throws if none was interrupted. */
export const lastInterrupted = async (
  project: Project,
  ids: readonly string[],
  { terminal, env }: ResumeRequest,
): Promise<string> => {
  const views = await Promise.all(ids.map((id) => interruptedView(project, id, env)));
  const [last, ...others] = views
    .filter((view) => view !== null)
    .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
  if (last === undefined)
    throw userError(
      'nothing-to-resume',
      'no run was interrupted',
      'spool ralph <change> (with --resume to use the settings of its last run)',
    );
  const also = others.length === 0 ? '' : ` Also interrupted: ${someOf(others.map(({ change }) => change))}.`;
  say(terminal, `Resuming ${last.change}, interrupted ${timeAgo(last.updatedAt, new Date())}.${also}`);
  return last.change;
};

const interruptedView = async (project: Project, id: string, env: NodeJS.ProcessEnv): Promise<RunView | null> => {
  const saved = (await lastSaved(project, id))?.view ?? null;
  const view = saved && asRecorded(userStateFolder(project, id, env), saved);
  return view && currentStatus(view, loopOwner(project, id) !== null) === 'interrupted' ? view : null;
};
