import { agentKey, type Uncommitted } from '../ralph/events.ts';
import { totalUsage } from '../ralph/usage.ts';
import type { RunView } from '../ralph/view.ts';
import { pluralise, duration, oneLine, someOf } from '../text/format.ts';
import { usageText } from './figures.ts';
import { commandLine } from '../text/shell-words.ts';

/** What a run came to, one fact a line, and how to go on. */
export const summarise = (view: RunView): string[] => {
  const next = nextCommand(view);
  return [
    `  Iterations  ${view.finishedIterations}, ${duration(view.elapsedMs)} at work`,
    ...(usageText(totalUsage(view)) ? [`  Used        ${usageText(totalUsage(view))}`] : []),
    ...(view.files.length > 0 ? [`  Changed     ${filesText(view)}`] : []),
    ...(view.uncommitted ?? []).map((left) => `  Uncommitted ${uncommittedText(left)}`),
    ...(view.tasks ? [`  Tasks       ${view.tasks.done} of ${view.tasks.total} done`] : []),
    ...(gateText(view) ? [`  Gate        ${gateText(view)}`] : []),
    ...(next === null ? [] : [`  Go on with  ${next}`]),
  ];
};

/** An iteration with very many names only the first ones; the others may be the same ones each time. */
const filesText = ({ files, filesLeftOut }: RunView): string =>
  filesLeftOut === 0
    ? pluralise(files.length, 'file')
    : `${pluralise(files.length, 'file')} and up to ${filesLeftOut} more`;

const uncommittedText = ({ why, files, count: all }: Uncommitted): string =>
  `${pluralise(all, 'file')}: ${someOf(files, all)} (${oneLine(why, 200)})`;

const gateText = ({ gateRuns: { passed, flaky, failed } }: RunView): string => {
  if (passed + flaky + failed === 0) return '';
  const red = [...(failed > 0 ? [`${failed} failed`] : []), ...(flaky > 0 ? [`${flaky} flaky`] : [])];
  return [`${pluralise(passed + flaky + failed, 'run')}, ${passed} passed`, ...red].join(', ');
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

/** A new run begins with nothing but what it is given: without these flags it would have another gate. */
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
    // The flag that the sentence above it advises.
    ...(view.cause === 'denied' && view.detail?.includes('--allow-all') ? ['--allow-all'] : []),
  ].join(' ');
