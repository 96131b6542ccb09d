import type { ScenarioProof } from '../../ralph/proof.ts';
import type { IterationRecord } from '../../ralph/record.ts';
import { iterationUsage, spentUsage } from '../../ralph/usage.ts';
import { capitalise, duration, lineChanges, pluralise } from '../../text/format.ts';
import { markdownCode, markdownText } from '../../text/markdown.ts';
import { costText, usageText } from '../figures.ts';
import { endWord } from '../run-end.ts';
import { oneLine } from '../shorten.ts';
import { outcomeOf } from '../trouble.ts';
import { countText, groupsOf, mainEvidence, onWorker, provenAt } from '../../ralph/proof-rows.ts';
import type { ProofReport } from './report.ts';

/** How many rows each part of the Markdown has; the rest is counted. */
export interface MarkdownLimits {
  readonly scenarios: number;
  readonly tasks: number;
  readonly iterations: number;
}

/** The proof of a change as Markdown, for a pull request or a job summary. Long lists are shortened until it fits. */
export const proofMarkdown = (report: ProofReport): string =>
  fitting((limits) => [
    `## Proof of ${markdownText(report.change)}`,
    ...proofSections(report, limits),
    ...runSections(report, limits),
  ]);

/** GitHub takes 65,536 characters. */
const maxMarkdown = 60_000;

/** Renders with smaller and smaller limits until the result fits, and cuts it off at the end of a line if it never does. */
export const fitting = (
  sectionsAt: (limits: MarkdownLimits) => readonly string[],
  maxLength: number = maxMarkdown,
): string => {
  const max = Math.min(maxLength, maxMarkdown);
  let text = '';
  for (let rows = 2000; rows >= 1; rows = Math.floor(rows / 2)) {
    text = `${sectionsAt({ scenarios: rows, tasks: rows, iterations: rows }).join('\n\n')}\n`;
    if (text.length <= max) return text;
  }
  const cut = text.slice(0, Math.max(0, max - 100));
  return `${cut.slice(0, Math.max(0, cut.lastIndexOf('\n')))}\n\n</details>\n\nThe rest is left out: it is too long.\n`;
};

/** The scenarios: what is not proven in full view, what is proven in a part that can be opened. */
export const proofSections = (
  { scenarios, count, unknown, gate }: ProofReport,
  { scenarios: max }: MarkdownLimits,
): string[] => {
  if (count.total === 0) return ['The change has no scenarios, so there is nothing to prove.'];
  const open = scenarios.filter(({ state }) => state !== 'proven');
  const proven = scenarios.filter(({ state }) => state === 'proven');
  const checked =
    gate === null
      ? 'No gate has run yet.'
      : `Verified in iteration ${gate.iteration}${onWorker(gate.worker, (names) => markdownText(oneLine(names)))}.`;
  return [
    `**${countText(count)}.** ${checked}`,
    ...(open.length === 0 ? [] : [openTable(open, max)]),
    ...(proven.length === 0 ? [] : [details(pluralise(proven.length, 'proven scenario'), provenTable(proven, max))]),
    ...(unknown.length === 0
      ? []
      : [
          details(
            `${pluralise(unknown.length, 'ID', 'IDs')} in tests that no scenario has`,
            some(unknown, max, ({ id, where }) => `- ${markdownCode(oneLine(id))} in ${markdownText(oneLine(where))}`),
          ),
        ]),
  ];
};

const openTable = (rows: readonly ScenarioProof[], max: number): string =>
  [
    '| State | Scenario | Why |',
    '| --- | --- | --- |',
    some(rows, max, (row) => {
      const where = row.requirement === null ? '' : ` (${cell(row.requirement)})`;
      return `| **${row.state}** | ${cell(row.title)}${where} | ${cell(row.reason ?? '')} |`;
    }),
  ].join('\n');

const provenTable = (rows: readonly ScenarioProof[], max: number): string =>
  [
    '| Requirement | Scenario | Proven by | Iteration | Commit |',
    '| --- | --- | --- | ---: | --- |',
    some(
      groupsOf(rows).flatMap((group) => group.scenarios),
      max,
      (row) => {
        const evidence = mainEvidence(row)!;
        const by = evidence.test === null ? markdownCode(oneLine(evidence.command, maxCell)) : cell(evidence.test);
        const cells = [
          cell(row.requirement ?? ''),
          cell(row.title),
          by,
          row.proof?.iteration ?? '',
          cell(provenAt(row)),
        ];
        return `| ${cells.join(' | ')} |`;
      },
    ),
  ].join('\n');

/** What the last run did: its commands, its tasks, its iterations and what it cost. */
export const runSections = (
  { run, records, tasks }: ProofReport,
  { tasks: maxTasks, iterations: maxIterations }: MarkdownLimits,
): string[] => {
  const gateRuns = records.findLast(({ gate }) => (gate?.runs.length ?? 0) > 0)?.gate?.runs ?? [];
  const done = tasks.filter((task) => task.done).length;
  return [
    ...(run === null ? [] : [runLine(run)]),
    ...(gateRuns.length === 0
      ? []
      : [
          [
            '| Command | Result | Time |',
            '| --- | --- | ---: |',
            some(
              gateRuns,
              maxIterations,
              (one) =>
                `| ${markdownCode(oneLine(one.command, maxCell))} | ${one.outcome} | ${duration(one.durationMs)} |`,
            ),
          ].join('\n'),
        ]),
    ...(tasks.length === 0
      ? []
      : [
          details(
            `${done} of ${pluralise(tasks.length, 'task')} done`,
            some(tasks, maxTasks, (task) => `- [${task.done ? 'x' : ' '}] ${cell(task.title)}`),
          ),
        ]),
    ...(records.length === 0
      ? []
      : [details(pluralise(records.length, 'iteration'), iterationTable(records, maxIterations))]),
  ];
};

const runLine = (run: NonNullable<ProofReport['run']>): string => {
  const agent = run.model === null ? run.harness : `${run.harness} ${run.model}`;
  const spent = usageText(spentUsage(run));
  const parts = [
    `**${capitalise(endWord(run.status))}** after ${pluralise(run.finishedIterations, 'iteration')} in ${duration(run.elapsedMs)}`,
    markdownText(agent),
    ...(spent === '' ? [] : [spent]),
  ];
  return `${parts.join(' · ')}`;
};

const iterationTable = (records: readonly IterationRecord[], max: number): string =>
  [
    '| # | Result | Time | Tasks | Files | Lines | Cost | Commit |',
    '| ---: | --- | ---: | ---: | ---: | --- | ---: | --- |',
    ...(records.length > max ? [`| | ${records.length - max} earlier ones are left out | | | | | | |`] : []),
    ...records.slice(-max).map((record) => {
      const { git, tasks } = record;
      const cells = [
        record.iteration,
        outcomeOf(record).result,
        duration(record.durationMs),
        tasks === null ? '' : `${tasks.done}/${tasks.total}`,
        git?.filesChanged ?? '',
        git === null || git.filesChanged === 0 ? '' : lineChanges(git),
        costText(iterationUsage(record)),
        cell(record.commit?.slice(0, 8) ?? ''),
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  ].join('\n');

const details = (summary: string, body: string): string =>
  `<details><summary>${summary}</summary>\n\n${body}\n\n</details>`;

/** One line for each item. Those beyond the limit are counted in a separate paragraph. */
const some = <Item>(items: readonly Item[], max: number, line: (item: Item) => string): string => {
  const shown = items.slice(0, max).map(line).join('\n');
  return items.length > max ? `${shown}\n\nand ${items.length - max} more` : shown;
};

const maxCell = 200;

const cell = (text: string): string => markdownText(oneLine(text, maxCell));
