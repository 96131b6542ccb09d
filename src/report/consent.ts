import { relative } from 'node:path';
import { gateCommands } from '../ralph/plan.ts';
import { mapLimits } from '../ralph/limits.ts';
import type { RunView } from '../ralph/view.ts';
import { provenText } from './introduction.ts';
import { limitsText } from './limits.ts';
import { visible } from '../text/escape-hidden.ts';

/** Describes in full what an interrupted run that someone else started would do if it is resumed. */
export const renderConsent = (view: RunView, root: string): string[] => {
  const { agents, gate, completionPromise, blockedPromise, minIterations, maxIterations, failFast } = view;
  const limits = mapLimits((name) => view.limits[name] ?? Infinity);
  const checks = [
    ...gateCommands(gate).map(quoted),
    ...(gate.requireTasks ? ['all tasks are done'] : []),
    ...(gate.requireScenarios ? [provenText(gate)] : []),
  ];
  const least = minIterations > 1 ? [`at least ${minIterations} iterations`] : [];
  const most = limitsText({ maxIterations: maxIterations ?? Infinity, limits, failFast });
  const rows: readonly (readonly [string, string])[] = [
    ['Agents', agents.map(({ harness, model }) => (model === null ? harness : `${harness}:${model}`)).join(', ')],
    ['Verifies', checks.join(', ') || 'nothing'],
    ['Promises', `${quoted(completionPromise)}, or ${quoted(blockedPromise)}`],
    ['Limits', [...least, ...most].join(', ')],
    ['Works in', workspaceText(view, root)],
    ['Sandbox', view.sandbox ? 'yes' : 'no'],
  ];
  return rows.map(([title, text]) => `  ${title.padEnd(8)}  ${visible(text)}`);
};

const quoted = (text: string): string => JSON.stringify(text);

const workspaceText = ({ workspace, commit }: RunView, root: string): string => {
  const folder = workspace === null || workspace.root === root ? 'the project' : relative(root, workspace.root);
  const branch = workspace?.branch ? `, on branch ${workspace.branch}` : '';
  return `${folder}${branch}${commit ? '' : ', without commits'}`;
};
