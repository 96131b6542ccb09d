/** A value that takes long to read, and that may be somewhat old. */
export interface Shared<Value> {
  /** Callers within `maxAgeMs` of a reading get the same value. */
  get(): Promise<Value>;
  /** The next call reads again. */
  drop(): void;
}

export const createShared = <Value>(read: () => Promise<Value>, maxAgeMs: number): Shared<Value> => {
  let last: { readonly atMs: number; readonly value: Promise<Value> } | null = null;
  return {
    get: () => {
      if (last !== null && performance.now() - last.atMs <= maxAgeMs) return last.value;
      const value = read();
      const reading = { atMs: performance.now(), value };
      last = reading;
      // An error is not kept.
      value.catch(() => {
        if (last === reading) last = null;
      });
      return value;
    },
    drop: () => {
      last = null;
    },
  };
};
