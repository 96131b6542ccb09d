import type { IterationRecord, TaskCount } from '../ralph/record.ts';
import { iterationUsage } from '../ralph/usage.ts';
import { capitalise, duration, lineChanges, pluralise, widthOf } from '../text/format.ts';
import { costText, shortTokens } from './figures.ts';
import { oneLine } from './shorten.ts';
import type { Symbols } from './symbols.ts';
import type { Style, Terminal } from './terminal.ts';
import { outcomeOf, reasonText } from './trouble.ts';

const widestRule = 80;

/** `── Iteration 1/50 ──────────────────── 22:14 ──`, as wide as the terminal. */
export const ruleText = (title: string, clock: string, { symbols: { rule }, columns }: Terminal): string => {
  const start = `${rule}${rule} ${title} `;
  const end = ` ${clock} ${rule}${rule}`;
  const room = Math.min(columns, widestRule) - widthOf(start) - widthOf(end);
  return room < 1 ? title : `${start}${rule.repeat(room)}${end}`;
};

export interface ResultText {
  readonly style: Style | null;
  /** What became of the iteration, and why; empty if it just worked. */
  readonly verdict: string;
  /** Figures. */
  readonly facts: string;
}

/** Describes the result of an iteration. `tasksBefore` are those at its start. */
export const resultText = (record: IterationRecord, tasksBefore: TaskCount | null, symbols: Symbols): ResultText => {
  const usage = iterationUsage(record);
  const facts = [
    duration(record.durationMs),
    tasksText(record, tasksBefore),
    workText(record),
    record.commit?.slice(0, 8) ?? '',
    costText(usage) || shortTokens(usage),
    record.denied ? `denied: ${oneLine(record.denied.tools.join(', '))}` : '',
  ];
  return { ...verdictOf(record), facts: facts.filter(Boolean).join(symbols.separator) };
};

const verdictOf = (record: IterationRecord): Omit<ResultText, 'facts'> => {
  const { result } = outcomeOf(record);
  if (result === 'done') return { style: 'green', verdict: 'Promise accepted' };
  if (result === 'interrupted') return { style: 'yellow', verdict: 'Interrupted' };
  const reason = reasonText(record);
  return reason === null ? { style: null, verdict: '' } : { style: 'red', verdict: capitalise(reason) };
};

const maxTitle = 40;

/** `1 task done (Parser)`, `3 tasks done`. */
const tasksText = ({ tasks, ticked = [] }: IterationRecord, before: TaskCount | null): string => {
  const done = ticked.length || (tasks === null || before === null ? 0 : tasks.done - before.done);
  if (done <= 0) return '';
  const title = ticked.length === 1 ? oneLine(ticked[0]!, maxTitle).replace(/^\d+(?:\.\d+)*[.)]? +/, '') : '';
  return `${pluralise(done, 'task')} done${title === '' ? '' : ` (${title})`}`;
};

/** `2 files +9 -1` */
const workText = ({ git }: IterationRecord): string => {
  if (git === null) return 'no git';
  if (git.filesChanged === 0) return 'no changes';
  return `${pluralise(git.filesChanged, 'file')} ${lineChanges(git)}`;
};

/** Returns the mentions of the promise that did not count. */
export const mentionLines = (record: IterationRecord): string[] =>
  record.mentions.map(({ words, why }) => `  Ignored, ${why}: ${oneLine(words, Infinity).slice(-200)}`);
