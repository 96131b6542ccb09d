import { isResumable } from '../../ralph/view.ts';
import { pluralise } from '../../text/format.ts';
import type { Action, Row } from '../api.ts';

/** What an action will do, in sentences. `row` is the change as it is now. */
export const describe = (action: Action, row: Row): string[] => {
  const { change } = action;
  const { iteration, status } = row;
  const where = row.remote?.host ? ` on ${row.remote.host}` : '';
  switch (action.kind) {
    case 'add-context':
      return [`Adds your text to the context of ${change}. Every iteration from the next one on reads it.`];
    case 'clear-context':
      return [`Clears the context added to ${change}. A running iteration keeps it.`];
    case 'stop-after-iteration':
      return [`Stops ${change}${where} when iteration ${iteration} is done. It can be resumed later.`];
    case 'pause':
      return [`Pauses ${change}${where} when iteration ${iteration} is done.`];
    case 'resume':
      return [`Resumes ${change}${where}.`];
    case 'stop-now':
      return status === 'running'
        ? [
            `Stops ${change}${where} now, in the middle of iteration ${iteration}: its agent is terminated.`,
            'Files that it has changed stay as they are, and are not committed. The run can be resumed later.',
          ]
        : [`Cleans up leftover processes of ${change}${where}, or removes it from the queue.`];
    case 'start':
      return describeStart(action, row);
    case 'rewind':
      return [
        `Restores the files of ${change} to ${action.to.startsWith('r') ? action.to : `the state after iteration ${action.to}`}.`,
        'The branch and the index stay as they are. The current files are saved first, so you can undo it.',
      ];
    case 'land':
      return [
        `Rebases the branch of ${change} onto its base, verifies it and fast-forwards the base branch.`,
        action.keepBranch ? 'The branch is kept. Nothing is pushed.' : 'The branch is deleted. Nothing is pushed.',
      ];
  }
};

const describeStart = (action: Action & { readonly kind: 'start' }, row: Row): string[] => {
  const { change, harness, model, maxIterations, maxCostUsd, maxDuration, fresh, prompt } = action;
  const continues = !fresh && row.run !== null && row.status !== 'running' && isResumable(row);
  const limits = [
    maxIterations === undefined ? '' : pluralise(maxIterations, 'iteration'),
    maxCostUsd === undefined ? '' : `$${maxCostUsd}`,
    maxDuration ?? '',
  ].filter(Boolean);
  return [
    continues
      ? `Resumes the run of ${change} that was interrupted in iteration ${row.iteration}, in the background.`
      : `Starts a new run of ${change} in the background.`,
    harness === undefined
      ? 'Uses the configured agent.'
      : `Uses ${model === undefined ? harness : `${harness}:${model}`}.`,
    limits.length === 0 ? 'Uses the configured limits.' : `It ends after ${limits.join(', ')}.`,
    ...(prompt === undefined ? [] : ['Your prompt is used in addition to the documents of the change.']),
    'An agent runs commands on this machine and costs money.',
  ];
};
