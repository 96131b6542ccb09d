/** Returns the candidate that was probably meant, by its whole text or its beginning; null if none is similar. */
export const closest = (text: string, candidates: readonly string[]): string | null => {
  const typed = text.slice(0, 100).toLowerCase();
  if (typed.length < 2) return null;
  const ranked = candidates
    .map((candidate) => ({ candidate, score: unlikeness(typed, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.score - b.score);
  const best = ranked[0];
  return best && best.score <= Math.max(typed.length > 3 ? 2 : 1, Math.floor(typed.length / 3)) ? best.candidate : null;
};

const unlikeness = (typed: string, candidate: string): number => {
  if (typed.length >= 3 && candidate.includes(typed)) return 0;
  return Math.min(distance(typed, candidate), distance(typed, candidate.slice(0, typed.length)));
};

const distance = (a: string, b: string): number => {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const swap = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(swap, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
};
