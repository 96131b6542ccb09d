import { commandLine, quoted } from '../text/shell-words.ts';
import type { Command } from '../process/sandbox-types.ts';

/** Returns a shell command line that sets variables and then executes the command. */
export const shellLine = (
  { binary, args }: Pick<Command, 'binary' | 'args'>,
  variables: Readonly<Record<string, string>>,
): string => {
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`);
  return `export ${settings.join(' ')}; exec ${commandLine(binary, ...args)}`;
};
