/** Joins words into a command that can be pasted into a shell. */
export const commandLine = (...words: readonly string[]): string => words.map(shellWord).join(' ');

/** Braces around a name, as in `{model}`, need no quotes. */
const shellWord = (word: string): string => (/^(?:[\w./@%+=:,-]|\{[\w-]*\})+$/.test(word) ? word : quoted(word));

/** Quotes any text for a POSIX shell. */
export const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;
