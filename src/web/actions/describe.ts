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
      return [`Deletes all that was added to the context of ${change}. Iterations that are running keep it.`];
    case 'stop-after-iteration':
      return [`Stops ${change}${where} when iteration ${iteration} is done. It can be continued later.`];
    case 'pause':
      return [`Pauses ${change}${where} when iteration ${iteration} is done.`];
    case 'resume':
      return [`Resumes ${change}${where}.`];
    case 'stop-now':
      return status === 'running'
        ? [
            `Stops ${change}${where} now, in the middle of iteration ${iteration}: its agent is terminated.`,
            'Files that it has changed stay as they are, and are not committed. The run can be continued later.',
          ]
        : [`Stops what is left of ${change}${where}, or removes it from the queue.`];
    case 'start':
      return describeStart(action, row);
    case 'rewind':
      return [
        `Restores the files of ${change} to ${action.to.startsWith('r') ? action.to : `the state after iteration ${action.to}`}.`,
        'The branch and the index stay as they are. The present files are saved first, so it can be undone.',
      ];
    case 'land':
      return [
        `Rebases the branch of ${change} onto its base, verifies it and moves the base.`,
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
      ? `Continues the run of ${change} that was interrupted in iteration ${row.iteration}, in the background.`
      : `Starts a new run of ${change} in the background.`,
    harness === undefined
      ? 'The agent is that of the settings.'
      : `The agent is ${model === undefined ? harness : `${harness}:${model}`}.`,
    limits.length === 0 ? 'The limits are those of the settings.' : `It ends after ${limits.join(', ')}.`,
    ...(prompt === undefined ? [] : ['It gets your prompt besides the documents of the change.']),
    'An agent runs commands on this machine and costs money.',
  ];
};
