import type { Terminal } from '../report/terminal.ts';
import type { Consent } from '../run/require-trust.ts';

/** Asks the person at a terminal; null when there is none. */
export const confirmOn = (terminal: Terminal): Consent['confirm'] =>
  terminal.canPrompt ? async (question) => (await import('../report/prompts.ts')).confirm(question) : null;

/** Shows what a project would run, and asks about it where a person may be asked. */
export const consentOn = (terminal: Terminal, mayAsk: boolean): Consent => ({
  say: (lines) => terminal.log(`${lines.join('\n')}\n`),
  confirm: mayAsk ? confirmOn(terminal) : null,
});
