import { commandLine, quoted } from '../text/shell-words.ts';
import type { Command } from '../process/sandbox.ts';

/** A line for a shell that sets these variables and becomes the command. */
export const shellLine = (
  { binary, args }: Pick<Command, 'binary' | 'args'>,
  variables: Readonly<Record<string, string>>,
): string => {
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`);
  return `export ${settings.join(' ')}; exec ${commandLine(binary, ...args)}`;
};
