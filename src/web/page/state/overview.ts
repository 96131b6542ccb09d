import { useEffect, useState } from 'preact/hooks';
import type { Overview, OverviewMessage, Row } from '../../api.ts';
import { get, type Problem } from './client.ts';
import { setServerTime } from './clock.ts';
import { createStore, type Store, useStore } from './store.ts';
import { openStream } from './stream.ts';

/** The last overview that the server sent. It stays when another view is shown. */
const overview: Store<Overview | null> = createStore<Overview | null>(null);

/** When the server sent a row, by its clock. */
const sentAt = new WeakMap<Row, number>();

/** Until when the running time of a row is counted in it. */
export const sentAtMs = (row: Row): number => sentAt.get(row) ?? 0;

const take = (next: Overview): void => {
  setServerTime(next.now);
  for (const row of next.rows) if (!sentAt.has(row)) sentAt.set(row, new Date(next.now).getTime());
  overview.set(next);
};

const receive = (message: OverviewMessage): void => {
  if (message.type === 'overview') return take(message.overview);
  const last = overview.get();
  if (last === null) return;
  const rows = new Map([...last.rows, ...message.rows].map((row) => [row.change, row]));
  take({
    ...last,
    rows: message.order.flatMap((change) => rows.get(change) ?? []),
    warnings: message.warnings,
    now: message.now,
  });
};

/** Reads the overview once, if it was not read before. */
export const useProject = (): Overview | null => {
  useEffect(() => {
    if (overview.get() === null) void readOverview();
  }, []);
  return useStore(overview);
};

/** One answer is enough for all who ask at the same time. */
const readOverview = (): Promise<Problem | null> => {
  reading ??= get<Overview>('/overview').then((answer) => {
    reading = null;
    if (!answer.ok) return answer.problem;
    take(answer.value);
    return null;
  });
  return reading;
};
let reading: Promise<Problem | null> | null = null;

/** Follows the overview while the component is shown. */
export const useOverview = (): { readonly overview: Overview | null; readonly problem: Problem | null } => {
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    const read = async () => {
      const found = await readOverview();
      setProblem(found);
      return found;
    };
    void read();
    return openStream<OverviewMessage>({ path: '/overview', onMessage: receive, read });
  }, []);
  const current = useStore(overview);
  return { overview: current, problem: current === null ? problem : null };
};
