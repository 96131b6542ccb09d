import { useEffect } from 'preact/hooks';
import { createStore, useStore } from './store.ts';

/** How far the clock of the server is ahead. */
let aheadMs = 0;

export const setServerTime = (now: string): void => {
  aheadMs = new Date(now).getTime() - Date.now();
};

/** The time on the server, by which ages are computed. */
const serverNow = (): number => Date.now() + aheadMs;

const tick = createStore(0);
let users = 0;
let timer = 0;

/** The time on the server, once a second. One timer serves all components, and none runs without them. */
export const useNow = (isTicking = true): number => {
  useStore(tick);
  useEffect(() => {
    if (!isTicking) return undefined;
    if (users++ === 0) timer = window.setInterval(() => tick.set(Date.now()), 1000);
    return () => {
      if (--users === 0) clearInterval(timer);
    };
  }, [isTicking]);
  return serverNow();
};
