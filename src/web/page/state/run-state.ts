import type { IterationSummary, JournalEntry, RunDetail, RunMessage } from '../../api.ts';

export interface RunState {
  readonly detail: RunDetail;
  /** By number, without gaps as far as they are loaded. The one in progress is not among them. */
  readonly iterations: readonly IterationSummary[];
  /** Older ones are still being loaded. */
  readonly isLoading: boolean;
  /** What the stream has sent of the current iteration and the one before, oldest first. */
  readonly entries: readonly JournalEntry[];
  /** How often the stream could not resume, so that entries may be missing. */
  readonly snapshots: number;
  /** The newer run of the change. */
  readonly supersededBy: string | null;
}

/** After the run was read. Nothing that is known of the same run is lost. */
export const withDetail = (last: RunState | null, detail: RunDetail): RunState => {
  const known = last?.detail.run === detail.run ? last : null;
  const isNewer = known === null || known.detail.now <= detail.now;
  return {
    // The stream may have been faster than this answer.
    detail: isNewer ? detail : { ...detail, ...pick(known.detail) },
    iterations: known?.iterations ?? [],
    isLoading: detail.lastIteration > 0 && (known?.isLoading ?? true),
    entries: known?.entries ?? [],
    snapshots: last?.snapshots ?? 0,
    supersededBy: known?.supersededBy ?? null,
  };
};

const pick = ({ view, status, now }: RunDetail) => ({ view, status, now });

/** After a message of the stream. Before the run was read, only a snapshot means something. */
export const withMessage = (last: RunState | null, message: RunMessage): RunState | null => {
  if (message.type === 'snapshot') {
    const next = withDetail(last, message.detail);
    return { ...next, snapshots: next.snapshots + 1 };
  }
  if (last === null) return null;
  switch (message.type) {
    case 'entries':
      return { ...last, entries: withEntries(last.entries, message.entries) };
    case 'view':
    case 'ended':
      return { ...last, detail: withView(last.detail, message) };
    case 'iteration':
      return withIterations(last, [message.iteration]);
    case 'tasks':
      return { ...last, detail: { ...last.detail, tasks: message.tasks } };
    case 'superseded':
      return { ...last, supersededBy: message.run };
  }
};

export const withIterations = (last: RunState, added: readonly IterationSummary[]): RunState => {
  if (added.length === 0) return last;
  const byNumber = new Map(last.iterations.map((one) => [one.iteration, one]));
  for (const one of added) byNumber.set(one.iteration, one);
  return { ...last, iterations: [...byNumber.values()].toSorted((a, b) => a.iteration - b.iteration) };
};

/** Entries are numbered, so what comes twice is left out. Those of older iterations go: the journal has them. */
const withEntries = (known: readonly JournalEntry[], added: readonly JournalEntry[]): readonly JournalEntry[] => {
  const lastSeq = known.at(-1)?.seq ?? 0;
  const fresh = added.filter(({ seq }) => seq > lastSeq);
  const all = [...known, ...fresh];
  const started = fresh.findLast(({ event }) => event.type === 'iteration-started')?.event;
  if (started?.type !== 'iteration-started') return all;
  const first = all.findIndex(
    ({ event }) => event.type === 'iteration-started' && event.iteration >= started.iteration - 1,
  );
  return first > 0 ? all.slice(first) : all;
};

const withView = (detail: RunDetail, message: Extract<RunMessage, { type: 'view' | 'ended' }>): RunDetail => ({
  ...detail,
  view: message.view,
  status: message.status,
  lastIteration: Math.max(detail.lastIteration, message.view.iteration),
  ...(message.type === 'view' && { now: message.now }),
});
