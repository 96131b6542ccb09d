/** A least-recently-used cache. */
export interface Cache<Value> {
  get(key: string, create: () => Value): Value;
  delete(key: string): void;
}

const maxKept = 50;

export const createCache = <Value>(max = maxKept): Cache<Value> => {
  const known = new Map<string, Value>();
  return {
    get: (key, create) => {
      const value = known.has(key) ? known.get(key)! : create();
      // The one that was used last is at the end.
      known.delete(key);
      known.set(key, value);
      if (known.size > max) known.delete(known.keys().next().value!);
      return value;
    },
    delete: (key) => void known.delete(key),
  };
};
