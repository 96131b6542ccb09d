import { useEffect, useState } from 'preact/hooks';
import { get, type Problem } from './client.ts';
import { useStore } from './store.ts';
import { reconnections } from './stream.ts';

export type Loaded<Value> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly problem: Problem }
  | { readonly state: 'ready'; readonly value: Value };

/**
 * What the server answers; null asks for nothing. `version` changes when it has to be read again. What failed is read again
 * when the server is back.
 */
export const useLoaded = <Value>(path: string | null, version: number | string = 0): Loaded<Value> => {
  const [loaded, setLoaded] = useState<{ readonly path: string | null; readonly value: Loaded<Value> }>({
    path: null,
    value: { state: 'loading' },
  });
  const retries = useRetryCount(loaded.value.state === 'failed');
  useEffect(() => {
    if (path === null) return undefined;
    const abort = new AbortController();
    void get<Value>(path, abort.signal).then((answer) => {
      if (abort.signal.aborted) return;
      const value: Loaded<Value> = answer.ok
        ? { state: 'ready', value: answer.value }
        : { state: 'failed', problem: answer.problem };
      setLoaded({ path, value });
    });
    return () => abort.abort();
  }, [path, version, retries]);
  return loaded.path === path ? loaded.value : { state: 'loading' };
};

/** A number that changes when the server is back and something has failed, which is then to be tried again. */
export const useRetryCount = (hasFailed: boolean): number => {
  const reached = useStore(reconnections);
  const [retries, setRetries] = useState(0);
  useEffect(() => {
    if (hasFailed) setRetries(reached);
  }, [reached]);
  return retries;
};
