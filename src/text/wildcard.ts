/**
 * Stands in a text for a part that is not known. It matches `*` in a pattern. In `mayMatch` it also stands for any
 * text.
 */
export const hole = '\0';

/**
 * Returns whether a pattern matches a whole text, regardless of what the holes in the text stand for. `*` is any
 * sequence of characters, `?` is one of them. Takes time in proportion to both lengths, so a pattern from outside is
 * safe.
 */
export const matches = (pattern: string, text: string): boolean => {
  let at = 0;
  let inPattern = 0;
  /** Where the last `*` is, and what it covers up to. */
  let star = -1;
  let covered = 0;
  while (at < text.length) {
    const expected = pattern[inPattern];
    if (expected === '*') {
      star = inPattern++;
      covered = at;
    } else if (expected !== undefined && (expected === text[at] || (expected === '?' && text[at] !== hole))) {
      inPattern++;
      at++;
    } else if (star === -1) {
      return false;
    } else {
      inPattern = star + 1;
      at = ++covered;
    }
  }
  while (pattern[inPattern] === '*') inPattern++;
  return inPattern === pattern.length;
};

/** Returns whether there are texts for the holes with which the pattern matches. */
export const mayMatch = (pattern: string, text: string): boolean => {
  if (!text.includes(hole)) return matches(pattern, text);
  /** For each position in the pattern: whether the rest of both can be the same. */
  let next = new Uint8Array(pattern.length + 1);
  for (let at = text.length; at >= 0; at--) {
    const current = new Uint8Array(pattern.length + 1);
    for (let inPattern = pattern.length; inPattern >= 0; inPattern--) {
      const expected = pattern[inPattern];
      const isEnd = at === text.length;
      const rest = inPattern < pattern.length ? current[inPattern + 1]! : 0;
      if (isEnd) current[inPattern] = expected === undefined ? 1 : expected === '*' ? rest : 0;
      else if (expected === '*') current[inPattern] = rest | next[inPattern]!;
      else if (text[at] === hole) current[inPattern] = next[inPattern]! | rest;
      else if (expected === '?' || expected === text[at]) current[inPattern] = next[inPattern + 1]!;
    }
    next = current;
  }
  return next[0] === 1;
};
