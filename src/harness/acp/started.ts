import { type Baseline, endLeftOver, endProcesses, takeBaseline } from '../../process/left-over.ts';

/** What an agent has started. A turn leaves no tool of it running, and the agent nothing at all. Linux only. */
export interface Started {
  /** To be called before each turn, when the agent has answered `session/new`. */
  turnStarts(): void;
  /**
   * Ends what the last turn left running. To be called after each turn, and again before the next `session/new`: a tool
   * may have been started late, or looked like a helper of the agent when the turn ended.
   */
  endTools(): Promise<{ readonly mayHaveServed: boolean }>;
  /** To be called while the agent runs: later, a process that is not marked cannot be found. */
  note(): void;
  /** Ends what was noted, and is left when the agent is gone. */
  endNoted(): Promise<void>;
}

export const createStarted = (tag: string): Started => {
  let baseline: Baseline | null = null;
  const noted = new Map<number, string>();
  const note = (): Baseline => {
    const family = takeBaseline(tag);
    for (const [pid, start] of family.processes) noted.set(pid, start);
    return family;
  };
  return {
    turnStarts() {
      baseline = note();
    },
    async endTools() {
      if (baseline === null) return { mayHaveServed: false };
      const { mayHaveServed } = await endLeftOver(tag, baseline);
      note();
      return { mayHaveServed };
    },
    note: () => void note(),
    async endNoted() {
      await endProcesses({ processes: noted });
    },
  };
};
