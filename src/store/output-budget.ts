/** Characters that the events of an agent may add to the journal in one iteration. The log has all of its output. */
export const maxAgentText = 1024 * 1024;

/** How much more they may add each second, so that an iteration can be followed to its end. */
const morePerSecond = 4 * 1024;

/** After the limit was reached, events are written again as soon as they may add this much. */
const minBurst = 16 * 1024;

export interface OutputBudget {
  mayWrite(): boolean;
  use(characters: number): void;
  /** Another iteration begins. */
  reset(): void;
}

/** How much the agent of an iteration may still add. `nowMs` is a clock that is never set. */
export const createOutputBudget = (nowMs: () => number = () => performance.now()): OutputBudget => {
  let left = maxAgentText;
  let isUsedUp = false;
  let countedAt = nowMs();
  return {
    mayWrite() {
      const now = nowMs();
      left = Math.min(maxAgentText, left + ((now - countedAt) / 1000) * morePerSecond);
      countedAt = now;
      if (left <= 0) isUsedUp = true;
      if (left >= minBurst) isUsedUp = false;
      return !isUsedUp;
    },
    use(characters) {
      left -= characters;
    },
    reset() {
      left = maxAgentText;
      isUsedUp = false;
    },
  };
};
