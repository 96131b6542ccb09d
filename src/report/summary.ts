import { hasArchive } from '../changes/folders.ts';
import { type Uncommitted } from '../ralph/events.ts';
import { agentKey } from '../ralph/plan.ts';
import { shortCountText } from '../ralph/proof-rows.ts';
import type { HandoverNotes } from '../ralph/handover/notes.ts';
import type { IterationRecord } from '../ralph/record.ts';
import { spentUsage } from '../ralph/usage.ts';
import { usedUp } from '../ralph/used-up.ts';
import type { RunView } from '../ralph/view.ts';
import { dayTime, pluralise, duration, joinLines, lineChanges, someOf } from '../text/format.ts';
import { fact } from './facts.ts';
import { handoverLines } from './handover.ts';
import { rungFact } from './ladder.ts';
import type { Canvas } from './canvas.ts';
import { oneLine } from './shorten.ts';
import { usageText } from './figures.ts';
import { commandLine } from '../text/shell-words.ts';
import { troublesOf, troubleText } from './trouble.ts';

export interface SummaryFacts {
  /** The latest iterations of the run, oldest first. */
  readonly records: readonly IterationRecord[];
  /** While it runs; otherwise the view has them. */
  readonly tasks?: RunView['tasks'];
  /** The notes that Spool has kept, including those of earlier runs. */
  readonly handover?: HandoverNotes;
  /** The titles of tasks that are not done. */
  readonly openTasks?: readonly string[];
  readonly now: Date;
}

const maxTroubles = 5;

/** What a run has done, one fact per line. */
export const summarise = (view: RunView, facts: SummaryFacts, canvas: Canvas): string[] => {
  const line = (label: string, text: string) => (text === '' ? [] : fact(label, text, canvas));
  const troubles = troublesOf(facts.records);
  const earlier = troubles.length - maxTroubles;
  return [
    ...line('Change', view.changeDeleted ? 'deleted' : ''),
    ...line('Tasks', tasksText(view.tasks ?? facts.tasks ?? null, facts.openTasks ?? [])),
    ...line('Run', runText(view, facts.now)),
    ...line('Agent', rungFact(view)),
    ...line('Spent', usageText(spentUsage(view))),
    ...line('Changed', changedText(view)),
    ...(view.uncommitted ?? []).flatMap((left) =>
      line(left.commit === undefined ? 'Uncommitted' : 'No branch', uncommittedText(left)),
    ),
    ...line('Checks', checksText(view)),
    ...line('Scenarios', scenariosText(view)),
    ...line('Reviews', reviewsText(view)),
    ...troubles.slice(-maxTroubles).flatMap((one, index) => line(index === 0 ? 'Trouble' : '', troubleText(one))),
    ...line('', earlier > 0 ? `and ${earlier} more before` : ''),
    ...(view.status === 'complete' ? [] : handoverLines(facts.records, facts.handover)).flatMap((text, index) =>
      line(index === 0 ? 'Handover' : '', text),
    ),
  ];
};

const tasksText = (tasks: RunView['tasks'], open: readonly string[]): string => {
  if (tasks === null) return '';
  const titles = open.map((title) => oneLine(title, 100));
  const left = tasks.done < tasks.total && open.length > 0 ? ` · open: ${someOf(titles, open.length, 3)}` : '';
  return `${tasks.done}/${tasks.total} done${left}`;
};

const runText = (view: RunView, now: Date): string => {
  const { iteration, finishedIterations, maxIterations, harness, model } = view;
  const finished = maxIterations === null ? String(finishedIterations) : `${finishedIterations}/${maxIterations}`;
  const iterations = `${finished} ${finished === '1' ? 'iteration' : 'iterations'}`;
  const current = iteration > finishedIterations ? `iteration ${iteration} (${finished} finished)` : iterations;
  const agent = model === null ? harness : `${harness} ${model}`;
  return `${current} · ${spanText(view, now)} · ${agent}`;
};

/** `22:14 → 07:03 (8h 49m)`. The running time, which leaves out the time between an interruption and a resume. */
const spanText = ({ startedAt, endedAt, elapsedMs }: RunView, now: Date): string => {
  const start = dayTime(new Date(startedAt), now);
  const end = endedAt === null ? '' : ` → ${dayTime(new Date(endedAt), now, new Date(startedAt))}`;
  return `${start}${end} (${duration(elapsedMs)})`;
};

const changedText = (view: RunView): string => {
  const { changed, commits } = view;
  const files =
    changed === undefined
      ? view.files.length === 0
        ? []
        : [filesText(view)]
      : [changed.files === 0 ? 'nothing' : `${pluralise(changed.files, 'file')} ${lineChanges(changed)}`];
  const range = commits && commits.count > 0 ? [commitsText(commits)] : [];
  return [...files, ...range].join(' · ');
};

const commitsText = ({ count, first, last }: NonNullable<RunView['commits']>): string => {
  const short = (id: string | null) => joinLines(id ?? '').slice(0, 8);
  return `${pluralise(count, 'commit')} ${count === 1 ? short(last) : `${short(first)}..${short(last)}`}`;
};

/** The number of further files is an upper bound: records name only the first files, and the others may repeat. */
const filesText = ({ files, filesLeftOut }: RunView): string =>
  filesLeftOut === 0
    ? pluralise(files.length, 'file')
    : `${pluralise(files.length, 'file')} and up to ${filesLeftOut} more`;

const uncommittedText = ({ why, files, count, commit }: Uncommitted): string => {
  if (count === 0) return `unknown (${oneLine(why, 200)})`;
  const names = files.map((name) => oneLine(name, 200));
  const text = `${pluralise(count, 'file')}: ${someOf(names, count)}`;
  return commit === undefined
    ? `${text} (${oneLine(why, 200)})`
    : `commit ${joinLines(commit).slice(0, 8)} with ${text}. ${oneLine(why, 200)}`;
};

const checksText = ({ gateRuns: { passed, flaky, failed } }: RunView): string => {
  if (passed + flaky + failed === 0) return '';
  const others = [...(failed > 0 ? [`${failed} failed`] : []), ...(flaky > 0 ? [`${flaky} flaky`] : [])];
  return [`${pluralise(passed + flaky + failed, 'run')}, ${passed} passed`, ...others].join(', ');
};

const scenariosText = ({ proof }: RunView): string => (proof === undefined ? '' : shortCountText(proof));

/** `2 by codex:some-model, 1 passed · open: no test for the empty list` */
const reviewsText = ({ reviews, gate, status }: RunView): string => {
  if (reviews === undefined) return '';
  const by = gate.review ? ` by ${oneLine(agentKey(gate.review))}` : '';
  const findings = (status === 'complete' ? [] : (reviews.last?.findings ?? [])).map((finding) =>
    oneLine(finding, 150),
  );
  const found = findings.length === 0 ? '' : ` · found: ${someOf(findings, findings.length, 3)}`;
  return `${reviews.passed + reviews.failed}${by}, ${reviews.passed} passed${found}`;
};

/** The commands that a person needs next, each with a label. They are never broken, so that they can be copied. */
export const nextCommands = (view: RunView, facts: NextFacts, { style }: Canvas): string[] =>
  commandLines(nextOf(view, facts), style);

export const commandLines = (next: readonly Next[], style: Canvas['style']): string[] =>
  next.map(([label, command]) => `  ${style('dim', label.padEnd(11))} ${command}`);

interface NextFacts extends Pick<SummaryFacts, 'records'> {
  /** The ids of processes that are left of a run that was killed. */
  readonly leftovers: readonly number[];
  /** Whether the branch of the run has landed. */
  readonly isLanded?: boolean;
}

export type Next = readonly [label: string, command: string];

const nextOf = (view: RunView, { records, leftovers, isLanded = false }: NextFacts): Next[] => {
  const { change } = view;
  const on = (...words: readonly string[]): string => commandLine('spool', words[0]!, change, ...words.slice(1));
  const review: Next[] = view.files.length > 0 ? [['Review', on('diff', '--all')]] : [];
  const last = troublesOf(records).at(-1)?.iterations.at(-1);
  const trouble: Next[] = last === undefined ? [] : [[`Log of #${last}`, on('logs', String(last))]];
  const permissions: Next[] =
    view.allowAll && !view.allowAllHelps ? [['', '(with --allow-all again: permissions are not reused)']] : [];
  const cleanUp: Next[] = leftovers.length > 0 ? [['Clean up', on('stop')]] : [];
  // Nothing can be started, resumed or archived, and the logs may be gone as well.
  if (view.changeDeleted && view.status !== 'running') return [...cleanUp, ...review];
  switch (view.status) {
    case 'running':
      return [
        ...(view.pausedAt ? [['Resume', on('resume')] as const] : []),
        ['Follow', on('logs', '--follow')],
        ['Stop', on('stop')],
      ];
    case 'complete':
      return [
        ...review,
        ...trouble,
        ...(hasOwnCommits(view) && !isLanded ? [['Publish', on('publish')] as const] : []),
        ...(view.workspace?.worktree && !isLanded
          ? [['Land', on('land')] as const]
          : hasOpenTasks(view) || !hasArchive(view.source)
            ? []
            : [['Archive', on('archive')] as const]),
      ];
    case 'interrupted':
      return [
        ['Resume', commandLine('spool', 'ralph', '--change', change, ...(usedUp(view)?.flags ?? []))],
        ...permissions,
        ...cleanUp,
        ...review,
        ...trouble,
      ];
    case 'blocked': {
      const tell = `${commandLine('spool', 'ralph', '--change', change)} --add-context "<what it needs to know>"`;
      const again: Next[] = [['Try again', newRun(view)], ...permissions];
      const found: Next[] =
        view.cause === 'max-reviews' ? [['Findings', on('logs', String(view.iteration), '--review')]] : [];
      return [
        ...found,
        ...(view.cause === 'denied' ? again : [['Add context', tell] as const, ...again]),
        ...trouble,
        ...review,
      ];
    }
    case 'limit':
    case 'failed':
      return [['Try again', newRun(view)], ...permissions, ...trouble, ...review];
  }
};

/** Whether the run has its own branch with commits. */
const hasOwnCommits = ({ workspace, commits }: RunView): boolean =>
  Boolean(workspace?.branch) && (commits?.count ?? 0) > 0;

const hasOpenTasks = ({ tasks }: RunView): boolean => tasks !== null && tasks.done < tasks.total;

/** Uses all settings of the last run, except permissions. */
const newRun = ({ change, allowAllHelps }: RunView): string =>
  commandLine('spool', 'ralph', change, '--resume', ...(allowAllHelps ? ['--allow-all'] : []));
