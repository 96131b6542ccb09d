/** Looks into JSON that somebody else wrote, believing nothing about its shape. */

/** The object in a line, null when the line is anything else. */
export const parseObject = (line: string): Record<string, unknown> | null => {
  if (!line.startsWith('{')) return null;
  try {
    return asObject(JSON.parse(line));
  } catch {
    return null;
  }
};

export const field = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((inner, key) => asObject(inner)?.[key], value);

export const textAt = (value: unknown, ...path: string[]): string | null => {
  const text = field(value, ...path);
  return typeof text === 'string' ? text : null;
};

export const numberAt = (value: unknown, ...path: string[]): number | null => {
  const number = field(value, ...path);
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
};

const asObject = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
