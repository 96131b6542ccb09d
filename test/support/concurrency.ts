/** Runs `act` on all items, at most `limit` at a time. */
export const forEachConcurrent = async <Item>(
  items: readonly Item[],
  limit: number,
  act: (item: Item) => Promise<void>,
): Promise<void> => {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await act(item);
  };
  await Promise.all(Array.from({ length: limit }, worker));
};
