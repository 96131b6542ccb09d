/** More than real data needs, and few enough for recursive functions. */
const maxDepth = 200;

/**
 * Parses JSON that others can write. Throws a SyntaxError if it is invalid, or nested so deeply that recursive
 * functions such as `JSON.stringify` would overflow the stack.
 */
export const parseJsonText = (text: string): unknown => {
  const value: unknown = JSON.parse(text);
  // A shorter text cannot be nested more deeply.
  if (text.length > maxDepth && isDeeper(value, maxDepth))
    throw new SyntaxError(`nested more than ${maxDepth} levels deep`);
  return value;
};

const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
};
