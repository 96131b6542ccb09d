/** Returns the expected tasks that are missing. A note, a tick or a number added to a title does not change the task. */
export const missingTasks = (expected: readonly string[], titles: readonly string[]): string[] => {
  const left = new Map<string, number>();
  for (const title of titles.map(plainTitle)) left.set(title, (left.get(title) ?? 0) + 1);
  const take = (title: string): boolean => {
    const times = left.get(title) ?? 0;
    if (times > 0) left.set(title, times - 1);
    return times > 0;
  };
  const gone = expected.filter((title) => !take(plainTitle(title)));
  const sorted = [...left.keys()].toSorted();
  return gone.filter((title) => {
    const plain = plainTitle(title);
    for (let index = firstFrom(sorted, plain); sorted[index]?.startsWith(plain); index++)
      if (/^[^\p{L}\p{N}]/u.test(sorted[index]!.slice(plain.length)) && take(sorted[index]!)) return false;
    return true;
  });
};

/** The index of the first entry of a sorted list that is not less than a text. */
const firstFrom = (sorted: readonly string[], text: string): number => {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Without what an editor, a tick or reordering may change: marks, white space, emoji and a leading number. */
const plainTitle = (title: string) =>
  title
    .replaceAll(/[*_~`]/g, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[\p{So}\p{Sk}\u{FE0F}\u{200D}\s]+/u, '')
    .replace(/^(?:\d+(?:\.\d+)+[.):]?|\d+[.):])\s+/, '')
    .trim();
