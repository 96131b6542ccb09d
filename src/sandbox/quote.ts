import type { Command } from './sandbox.ts';

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** A line for a shell that sets these variables and becomes the command. */
export const commandLine = (
  { binary, args }: Pick<Command, 'binary' | 'args'>,
  variables: Readonly<Record<string, string>>,
): string => {
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`);
  return `export ${settings.join(' ')}; exec ${[binary, ...args].map(quoted).join(' ')}`;
};
