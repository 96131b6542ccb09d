import { agentKey } from '../ralph/plan.ts';
import { type Uncommitted } from '../ralph/events.ts';
import { totalUsage } from '../ralph/usage.ts';
import type { RunView } from '../ralph/view.ts';
import { pluralise, duration, someOf } from '../text/format.ts';
import { oneLine } from './shorten.ts';
import { usageText } from './figures.ts';
import { commandLine } from '../text/shell-words.ts';

/** Summarises a run, one fact per line, with the command to continue. */
export const summarise = (view: RunView): string[] => {
  const next = nextCommand(view);
  return [
    `  Iterations  ${view.finishedIterations} in ${duration(view.elapsedMs)}`,
    ...(usageText(totalUsage(view)) ? [`  Usage       ${usageText(totalUsage(view))}`] : []),
    ...(view.files.length > 0 ? [`  Changed     ${filesText(view)}`] : []),
    ...(view.uncommitted ?? []).map((left) => `  Uncommitted ${uncommittedText(left)}`),
    ...(view.tasks ? [`  Tasks       ${view.tasks.done} of ${view.tasks.total} done`] : []),
    ...(checksText(view) ? [`  Checks      ${checksText(view)}`] : []),
    ...(next === null ? [] : [`  ${view.status === 'interrupted' ? 'Resume with' : 'Try again  '} ${next}`]),
  ];
};

/** The number of further files is an upper bound: records name only the first files, and the others may repeat. */
const filesText = ({ files, filesLeftOut }: RunView): string =>
  filesLeftOut === 0
    ? pluralise(files.length, 'file')
    : `${pluralise(files.length, 'file')} and up to ${filesLeftOut} more`;

const uncommittedText = ({ why, files, count }: Uncommitted): string =>
  `${pluralise(count, 'file')}: ${someOf(
    files.map((name) => oneLine(name, 200)),
    count,
  )} (${oneLine(why, 200)})`;

const checksText = ({ gateRuns: { passed, flaky, failed } }: RunView): string => {
  if (passed + flaky + failed === 0) return '';
  const others = [...(failed > 0 ? [`${failed} failed`] : []), ...(flaky > 0 ? [`${flaky} flaky`] : [])];
  return [`${pluralise(passed + flaky + failed, 'run')}, ${passed} passed`, ...others].join(', ');
};

const nextCommand = (view: RunView): string | null => {
  switch (view.status) {
    case 'complete':
    case 'running':
      return null;
    case 'interrupted':
      return commandLine('spool', 'ralph', '--change', view.change);
    case 'blocked':
      if (view.cause === 'denied') return newRun(view);
      return `${commandLine('spool', 'ralph', '--change', view.change)} --add-context "<what it needs to know>", then ${newRun(view)}`;
    case 'limit':
    case 'failed':
      return newRun(view);
  }
};

/** A new run does not inherit settings from the last one, so the command repeats the flags that matter. */
const newRun = ({
  change,
  gate,
  agents,
  workspace,
  commit,
  completionPromise,
  blockedPromise,
  ...view
}: RunView): string =>
  [
    commandLine('spool', 'ralph', '--change', change),
    ...(agents.map(agentKey).join(',') === 'opencode'
      ? []
      : [commandLine('--harness', agents.map(agentKey).join(','))]),
    ...gate.verify.map((command) => commandLine('--verify', command)),
    ...(gate.verifyEach ? ['--verify-each'] : []),
    ...(gate.requireTasks ? ['--require-tasks'] : []),
    ...(completionPromise === 'COMPLETE' ? [] : [commandLine('--completion-promise', completionPromise)]),
    ...(blockedPromise === 'BLOCKED' ? [] : [commandLine('--blocked-promise', blockedPromise)]),
    ...(commit ? [] : ['--no-commit']),
    ...(workspace?.worktree ? ['--worktree'] : []),
    ...(view.sandbox ? ['--sandbox'] : []),
    ...(view.allowAllHelps ? ['--allow-all'] : []),
  ].join(' ');
