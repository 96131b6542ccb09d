import { createRedactor } from '../secrets/redact.ts';
import { answer, say } from './message.ts';
import type { Terminal } from './terminal.ts';

export interface RedactedTerminal extends Pick<Terminal, 'print' | 'log'> {
  /** Writes a message to stderr, wrapped at its words. */
  say(text: string): void;
  /** The same to stdout. */
  answer(text: string): void;
}

/**
 * A terminal for names of files, output of git and words of an agent, which may hold a secret. Not for what the user is
 * asked to trust: that is shown in full.
 */
export const redactedTerminal = (terminal: Terminal, env: NodeJS.ProcessEnv): RedactedTerminal => {
  const { text: redacted } = createRedactor(env);
  return {
    print: (text) => terminal.print(redacted(text)),
    log: (text) => terminal.log(redacted(text)),
    say: (text) => say(terminal, redacted(text)),
    answer: (text) => answer(terminal, redacted(text)),
  };
};
