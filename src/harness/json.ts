import { parseJsonText } from '../text/json.ts';

/** Reads JSON of unknown shape. */

/** Returns null if the line is not a JSON object. */
export const parseObject = (line: string): Record<string, unknown> | null => {
  if (!line.startsWith('{')) return null;
  try {
    return asObject(parseJsonText(line));
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

/** Returns an empty list if the value is not an array. */
export const listAt = (value: unknown, ...path: string[]): readonly unknown[] => {
  const list = field(value, ...path);
  return Array.isArray(list) ? list : [];
};

/** Returns null if the first number is null. The others count as 0 if they are null. */
export const sum = (first: number | null, ...others: (number | null)[]): number | null =>
  first === null ? null : others.reduce<number>((total, value) => total + (value ?? 0), first);

/** Returns null if it is not an object. */
export const asObject = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
