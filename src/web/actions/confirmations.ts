import { createHash, randomBytes } from 'node:crypto';
import type { Action, Row } from '../api.ts';

/** Tokens of previews. Each is valid once, for a while, for the same action on a change in the same state. */
export interface Confirmations {
  issue(action: Action, row: Row): { readonly token: string; readonly expiresAt: string };
  /** Uses a token up, and returns whether it was valid. */
  redeem(token: string, action: Action, row: Row): boolean;
}

const validMs = 10 * 60_000;
const maxIssued = 200;

export const createConfirmations = (): Confirmations => {
  const issued = new Map<string, { readonly subject: string; readonly untilMs: number }>();
  return {
    issue: (action, row) => {
      const token = randomBytes(24).toString('base64url');
      const untilMs = Date.now() + validMs;
      issued.set(token, { subject: subjectOf(action, row), untilMs });
      // The oldest are dropped: a person does not confirm that many.
      while (issued.size > maxIssued) issued.delete(issued.keys().next().value!);
      return { token, expiresAt: new Date(untilMs).toISOString() };
    },
    redeem: (token, action, row) => {
      const found = issued.get(token);
      issued.delete(token);
      return found !== undefined && found.untilMs > Date.now() && found.subject === subjectOf(action, row);
    },
  };
};

/** What was shown: the action, and the run that it is about. */
const subjectOf = (action: Action, { run, status, landed }: Row): string => {
  const fields = Object.entries(action).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([fields, run, status, landed]))
    .digest('hex');
};
