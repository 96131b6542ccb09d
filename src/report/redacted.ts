import { createRedactor } from '../secrets/redact.ts';
import type { Terminal } from './terminal.ts';

export type RedactedTerminal = Pick<Terminal, 'print' | 'log'>;

/**
 * A terminal for names of files, output of git and words of an agent, which may hold a secret. Not for what the user is
 * asked to trust: that is shown in full.
 */
export const redactedTerminal = (terminal: Terminal, env: NodeJS.ProcessEnv): RedactedTerminal => {
  const { text: redacted } = createRedactor(env);
  return {
    print: (text) => terminal.print(redacted(text)),
    log: (text) => terminal.log(redacted(text)),
  };
};
