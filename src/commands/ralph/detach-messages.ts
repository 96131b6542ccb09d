import type { RunView } from '../../ralph/view.ts';

/** What a run in the background sends to the process that started it, until it has started. */
export type FromBackground =
  | { readonly type: 'say'; readonly lines: readonly string[] }
  | { readonly type: 'notice'; readonly text: string }
  | { readonly type: 'confirm'; readonly question: string }
  | { readonly type: 'resume'; readonly view: RunView }
  | { readonly type: 'until'; readonly passed: string }
  | { readonly type: 'started'; readonly change: string; readonly run: string };

/** The answer to a question. */
export interface ToBackground {
  readonly answer: boolean | string | null;
}

/** Set for a run in the background: whether its questions can be asked. */
export const detachedVariable = 'SPOOL_DETACHED';
