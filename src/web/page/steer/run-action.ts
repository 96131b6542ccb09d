import { announce } from '../parts/announce.tsx';
import type { Action, ActionResult } from '../../api.ts';
import { act, type Answer } from '../state/client.ts';
import { refreshRun } from '../state/run.ts';
import { createStore } from '../state/store.ts';

/** What became of an action, in the words of the server. */
export interface Outcome {
  readonly ok: boolean;
  readonly title: string;
  readonly output: string;
}

/** The outcome that the page shows, outside of dialogs. */
export const lastOutcome = createStore<Outcome | null>(null);

/** Does something, and shows what the server says about it. */
export const runAction = async (action: Action): Promise<void> => lastOutcome.set(await perform(action));

/** Does something. A dialog shows a failure itself; the page shows what was done. */
export const runFromDialog = async (action: Action, token: string | null = null): Promise<Outcome> => {
  const outcome = await perform(action, token);
  lastOutcome.set(outcome.ok ? outcome : null);
  return outcome;
};

const perform = async (action: Action, token: string | null = null): Promise<Outcome> => {
  const outcome = outcomeOf(await act(action, token));
  announce(`${outcome.title}. ${outcome.output}`);
  refreshRun();
  return outcome;
};

const outcomeOf = (answer: Answer<ActionResult>): Outcome => {
  if (!answer.ok) return { ok: false, title: 'Not done', output: answer.problem.message };
  const { ok, command, output, exitCode } = answer.value;
  return {
    ok,
    title: ok ? command : `${command} failed${exitCode === null ? '' : ` (exit code ${exitCode})`}`,
    output,
  };
};
