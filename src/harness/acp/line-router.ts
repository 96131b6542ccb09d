import { outputMark } from './log-lines.ts';

/** A turn, as the receiver of what an agent sends. */
export interface Listener {
  /** A line as it is logged. */
  line(line: string): void;
  /** Back-pressure: the next output is read after this resolves, or immediately for null. */
  drained(): Promise<void> | null;
  /** Returns the result of a request of the agent, or null for a method that is not supported. */
  onRequest(method: string, params: unknown): object | null;
}

/** In characters, of what arrives between two turns. */
const maxKept = 256 * 1024;

export type LineRouter = ReturnType<typeof createLineRouter>;

/** Passes the lines of an agent to the current turn. Those between two turns are kept for the log of the next. */
export const createLineRouter = () => {
  let kept: string[] = [];
  let keptLength = 0;
  let listener: Listener | null = null;
  let lastOutput: string | null = null;
  return {
    add(line: string): void {
      if (line.startsWith(outputMark) && line.trim() !== outputMark.trim()) lastOutput = line.slice(outputMark.length);
      if (listener !== null) return listener.line(line);
      if (keptLength + line.length > maxKept) return;
      kept.push(line);
      keptLength += line.length;
    },
    /** Passes on all lines until the returned function is called. */
    listen(next: Listener): () => void {
      listener = next;
      const lines = kept;
      kept = [];
      keptLength = 0;
      lines.forEach((line) => next.line(line));
      return () => {
        if (listener === next) listener = null;
      };
    },
    listener: () => listener,
    /** The last line that is not a message. */
    lastOutput: () => lastOutput,
  };
};
