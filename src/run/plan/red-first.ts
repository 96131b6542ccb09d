import { userError } from '../../errors.ts';
import type { Repository } from '../../git/work-tree.ts';
import { recordedCheckpoints } from '../../store/user-state/checkpoints.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { commandLine } from '../../text/shell-words.ts';
import { firstCheckpoint } from '../gate/first-checkpoint.ts';
import type { RunSpec } from '../spec.ts';
import type { Planned } from './plan.ts';

interface RedFirstRequest extends Pick<RunSpec, 'project'>, Pick<Planned, 'plan' | 'previous'> {
  readonly repository: Repository | null;
  readonly env: NodeJS.ProcessEnv;
}

/** Throws if --red-first could never try a test on the code from before the change. A new run saves that code itself. */
export const checkRedFirst = async ({ project, plan, previous, repository, env }: RedFirstRequest): Promise<void> => {
  if (!plan.gate.redFirst) return;
  if (repository === null) throw userError('red-first-no-git');
  if (previous === null) return;
  const userState = userStateFolder(project, plan.change, env);
  const { finishedIterations, pending } = previous.view;
  // It was stopped before it saved anything, so no agent has worked either.
  if (finishedIterations === 0 && pending === null && recordedCheckpoints(userState).length === 0) return;
  if ((await firstCheckpoint(repository, userState)) !== null) return;
  throw userError('checkpoint-gone', plan.change, commandLine('spool', 'ralph', '--change', plan.change, '--fresh'));
};
