export interface Schedule<Item, Result> {
  /** The maximum number of items that run at the same time. */
  readonly parallel: number;
  /** Returns whether two items must not run at the same time. */
  readonly conflict: (one: Item, other: Item) => boolean;
  /** Called once for an item that has to wait for another one. */
  readonly onBlocked: (item: Item, by: Item) => void;
  readonly run: (item: Item) => Promise<Result>;
  /** Once it returns true, nothing more is started. */
  readonly isStopped: () => boolean;
}

interface Scheduled<Item, Result> {
  /** In the order in which they ended. */
  readonly results: readonly Result[];
  readonly notStarted: readonly Item[];
}

/** Runs the items of a queue, in order as far as conflicts allow. Resolves when all started items have ended. */
export const schedule = async <Item, Result>(
  queue: readonly Item[],
  { parallel, conflict, onBlocked, run, isStopped }: Schedule<Item, Result>,
): Promise<Scheduled<Item, Result>> => {
  const waiting = [...queue];
  const running = new Map<Item, Promise<{ item: Item; result: Result }>>();
  const results: Result[] = [];
  const announced = new Set<Item>();

  const takeNext = (): Item | null => {
    for (const [index, item] of waiting.entries()) {
      const by = [...running.keys()].find((other) => conflict(other, item));
      if (by === undefined) return waiting.splice(index, 1)[0]!;
      if (!announced.has(item)) onBlocked(item, by);
      announced.add(item);
    }
    return null;
  };

  for (;;) {
    const next = !isStopped() && running.size < parallel ? takeNext() : null;
    if (next !== null) {
      running.set(
        next,
        run(next).then((result) => ({ item: next, result })),
      );
      continue;
    }
    if (running.size === 0) return { results, notStarted: waiting };
    const { item, result } = await Promise.race(running.values());
    running.delete(item);
    results.push(result);
  }
};
