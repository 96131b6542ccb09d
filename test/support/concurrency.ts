/** Does all of them, a few at the same time, each begun as another one ends. */
export const fewAtATime = async <Item>(
  items: readonly Item[],
  few: number,
  act: (item: Item) => Promise<void>,
): Promise<void> => {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: few }, worker));
};
