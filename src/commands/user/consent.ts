import type { Terminal } from '../../report/terminal.ts';
import type { Consent } from '../../run/require-trust.ts';

/** A prompt on the terminal, or null if it is not interactive. */
export const confirmOn = (terminal: Terminal): Consent['confirm'] =>
  terminal.canPrompt ? async (question) => (await import('../../report/questions.ts')).confirm(question) : null;

/** Shows what a project would run, and asks for consent if prompting is allowed. */
export const consentOn = (terminal: Terminal, mayAsk: boolean): Consent => ({
  say: (lines) => terminal.log(`${lines.join('\n')}\n`),
  confirm: mayAsk ? confirmOn(terminal) : null,
});
