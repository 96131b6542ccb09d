import { isInsideIteration } from '../../process/tree.ts';
import type { Project } from '../../store/project.ts';
import { addToContext } from '../runs/context.ts';
import { steerRun } from '../runs/steer.ts';
import { problemOf } from './live.ts';
import type { Action } from './model.ts';
import type { RemoteWatch } from './remote.ts';

/** A request to a run, not to the screen. */
export type SteeringAction = Action & { readonly kind: 'control' | 'context' };

/** Does what was asked for, and returns what to tell the user. `remote`: workers have the change. */
export const answerTo = async (
  action: SteeringAction,
  { project, env }: { readonly project: Project; readonly env: NodeJS.ProcessEnv },
  remote: RemoteWatch | null,
): Promise<string> => {
  const { change } = action;
  try {
    if (isInsideIteration()) return 'An agent cannot steer runs.';
    const answer =
      action.kind === 'control'
        ? await remote?.steer(change, action.command)
        : await remote?.addContext(change, action.text);
    if (answer) return answer;
    if (action.kind === 'control') return await steerRun(project, change, { command: action.command, env });
    return `Added. ${await addToContext({ project, change, env }, action.text)} ${change}`;
  } catch (error) {
    return problemOf(error);
  }
};
