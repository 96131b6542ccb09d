import type { RunView } from '../../ralph/view.ts';

/** The view of a run that is followed. */
export interface LiveView {
  last(): RunView | null;
  /** `atMs`: when the event happened up to which the view counts the running time. */
  set(view: RunView | null, atMs?: number): void;
  /** The view with its running time until `nowMs`. */
  at(nowMs: number): RunView | null;
}

export const createLiveView = (): LiveView => {
  let view: RunView | null = null;
  let countedMs = 0;
  return {
    last: () => view,
    set: (next, atMs = countedMs) => {
      view = next;
      countedMs = atMs;
    },
    at: (nowMs) =>
      view?.status === 'running' && countedMs > 0
        ? { ...view, elapsedMs: Math.round(view.elapsedMs + Math.max(0, nowMs - countedMs)) }
        : view,
  };
};
