/** A command to be copied into a shell: each word as the shell reads it. */
export const commandLine = (...words: readonly string[]): string => words.map(shellWord).join(' ');

const shellWord = (word: string): string =>
  /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
