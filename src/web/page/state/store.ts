import { useEffect, useState } from 'preact/hooks';

/** A value that changes, and those who want to know. */
export interface Store<Value> {
  readonly get: () => Value;
  readonly set: (value: Value) => void;
  /** Returns a function that ends the subscription. */
  readonly subscribe: (listener: () => void) => () => void;
}

export const createStore = <Value>(first: Value): Store<Value> => {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (next) => {
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};

/** The value of a store; the component is rendered again when it changes. */
export const useStore = <Value>(store: Store<Value>): Value => {
  const [value, setValue] = useState<Value>(store.get);
  useEffect(() => {
    const update = () => setValue(() => store.get());
    update();
    return store.subscribe(update);
  }, [store]);
  return value;
};
