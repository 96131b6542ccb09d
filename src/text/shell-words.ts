/** A command to be copied into a shell: each word as the shell reads it. */
export const commandLine = (...words: readonly string[]): string => words.map(shellWord).join(' ');

/** A brace alone says nothing to a shell: `{model}` stays as a person would write it. */
const shellWord = (word: string): string => (/^(?:[\w./@%+=:,-]|\{[\w-]*\})+$/.test(word) ? word : quoted(word));

/** Whatever it holds. */
export const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;
