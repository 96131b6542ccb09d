import { load } from 'js-yaml';

/** Parses the object in a YAML text. Returns null if it is invalid or not an object. */
export const parseYaml = (text: string): Readonly<Record<string, unknown>> | null => {
  try {
    const value = load(text.replace(/^\uFEFF/, ''));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
};

/** Splits a text into the YAML between its first two `---` lines and the rest. */
export const splitFrontMatter = (text: string): { readonly front: string | null; readonly body: string } => {
  const found = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text);
  return found === null ? { front: null, body: text } : { front: found[1]!, body: text.slice(found[0].length) };
};

/** The entries of a list that are texts; a single text is a list of one. */
export const textsIn = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string' && each.trim() !== '');
