/** More than real data needs, and few enough for recursive functions. */
const maxDepth = 200;

/**
 * Parses JSON that others can write. Throws a SyntaxError if it is invalid, or nested so deeply that recursive
 * functions such as `JSON.stringify` would overflow the stack.
 */
export const parseJsonText = (text: string): unknown => {
  // `JSON.parse` takes seconds for a long text that is nested as deeply as it is long.
  if (text.length > longText && opensDeeper(text, maxDepth)) throw tooDeep();
  const value: unknown = JSON.parse(text);
  // A shorter text cannot be nested more deeply.
  if (text.length > maxDepth && isDeeper(value, maxDepth)) throw tooDeep();
  return value;
};

const longText = 32 * 1024;

const tooDeep = () => new SyntaxError(`nested more than ${maxDepth} levels deep`);

/** Whether a text has more brackets open at a time than `levels`, outside of its strings. */
const opensDeeper = (text: string, levels: number): boolean => {
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at);
    else if (char === '[' || char === '{') open++;
    else if (char === ']' || char === '}') open--;
    if (open > levels) return true;
  }
  return false;
};

/** Where the string ends that begins at a quote. */
const endOfString = (text: string, from: number): number => {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
};

const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
};
