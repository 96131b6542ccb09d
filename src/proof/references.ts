/** The ids that a text names: `@scenario auth/login/stays-signed-in`. An id alone does not count. */
export const referencesIn = (text: string): string[] =>
  text.includes('@scenario') ? [...text.matchAll(tag)].map(([, id]) => withoutEnd(id!)) : [];

/**
 * Go puts `_` for blanks into the names of tests. `@scenario(` is left out: pytest-bdd has a decorator with this name. The
 * id ends at the first character that no id has.
 */
const tag = /(?<![\p{L}\p{N}@.])@scenario[\s:=_]{1,8}["'`]?([\p{L}\p{N}][\p{L}\p{N}\p{M}_.:/#-]*)/gu;

/** Without the punctuation of a sentence around it. */
const withoutEnd = (id: string): string => {
  let end = id.length;
  while ('.:/#-_'.includes(id[end - 1]!)) end--;
  return id.slice(0, end);
};
