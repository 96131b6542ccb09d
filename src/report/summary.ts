import { mostFiles, totalUsage } from '../ralph/tally.ts';
import type { RunView } from '../ralph/view.ts';
import { count, duration, usageText } from './format.ts';

/** What a run came to, one fact a line, and how to go on. */
export const summarise = (view: RunView): string[] => {
  const next = wayOn(view);
  return [
    `  Iterations  ${view.finished}, ${duration(view.elapsedMs)} at work`,
    ...(usageText(totalUsage(view)) ? [`  Used        ${usageText(totalUsage(view))}`] : []),
    ...(view.files.length > 0 ? [`  Changed     ${filesText(view.files.length)}`] : []),
    ...(view.tasks ? [`  Tasks       ${view.tasks.done} of ${view.tasks.all} done`] : []),
    ...(gateText(view) ? [`  Gate        ${gateText(view)}`] : []),
    ...(next === null ? [] : [`  Go on with  ${next}`]),
  ];
};

const filesText = (files: number) => (files < mostFiles ? count(files, 'file') : `${mostFiles} files or more`);

const gateText = ({ gateRuns: { passed, flaky, failed } }: RunView): string => {
  if (passed + flaky + failed === 0) return '';
  const red = [...(failed > 0 ? [`${failed} failed`] : []), ...(flaky > 0 ? [`${flaky} flaky`] : [])];
  return [`${count(passed + flaky + failed, 'run')}, ${passed} passed`, ...red].join(', ');
};

const wayOn = ({ change, status }: RunView): string | null => {
  const again = `spool ralph --change ${change}`;
  switch (status) {
    case 'complete':
    case 'running':
      return null;
    case 'blocked':
      return `${again} --add-context "<what it needs to know>", then ${again}`;
    case 'interrupted':
    case 'limit':
    case 'failed':
      return again;
  }
};
