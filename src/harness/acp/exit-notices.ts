import type { AgentMode } from '../agent-mode.ts';
import type { AgentState } from './turn.ts';

/** What follows from how the last iteration left the agent. */
interface Consequence {
  /** What the user is told; null for nothing. */
  readonly notice: string | null;
  /** Why the mode has to be given up; null if it need not be. */
  readonly giveUp: string | null;
}

/** How many iterations in a row may end with a dead agent. */
const maxExits = 2;

/** Counts the iterations in which an agent exited, during its turn or while it was idle after it. */
export const createExits = (title: string, mode: AgentMode) => {
  let crashes = 0;
  let cleanExits = 0;
  let isAnnounced = false;

  /** `state` is that after the last turn; null if there was none. */
  return (state: AgentState | null, { wasIdle }: { readonly wasIdle: boolean }): Consequence => {
    crashes = state?.type === 'crashed' ? crashes + 1 : 0;
    cleanExits = state?.type === 'exited' && mode === 'warm' ? cleanExits + 1 : 0;
    if (crashes >= maxExits) return { notice: null, giveUp: `it exited in ${crashes} iterations in a row` };
    if (cleanExits >= maxExits && isAnnounced) return { notice: null, giveUp: null };
    if (cleanExits >= maxExits) {
      isAnnounced = true;
      return { notice: `${title} does not stay running. It is started again for each iteration.`, giveUp: null };
    }
    const whyReplaced = state?.type === 'unhealthy' && mode === 'warm' ? state.why : null;
    const why = wasIdle ? 'it exited between iterations' : whyReplaced;
    return { notice: why === null ? null : `${title} is restarted: ${why}.`, giveUp: null };
  };
};
