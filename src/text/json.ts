/** Deeper than anything that Spool, an agent or a person writes, and shallow enough for whatever walks through it. */
const deepest = 200;

/**
 * What a text says as JSON; a SyntaxError when it is none, or when it is nested so deeply that a function that calls
 * itself for each level (`JSON.stringify` is one) would run out of stack. The one way to JSON that others can write.
 */
export const parseJsonText = (text: string): unknown => {
  const value: unknown = JSON.parse(text);
  // A text this short cannot be deeper.
  if (text.length > deepest && isDeeper(value, deepest))
    throw new SyntaxError(`nested more than ${deepest} levels deep`);
  return value;
};

const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
};
