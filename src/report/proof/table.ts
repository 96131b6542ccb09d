import type { ScenarioProof, ScenarioState } from '../../ralph/proof.ts';
import { hasArchive } from '../../changes/folders.ts';
import { timeAgo } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { Canvas } from '../canvas.ts';
import { fact } from '../facts.ts';
import { oneLine, truncate } from '../shorten.ts';
import { commandLines, type Next } from '../summary.ts';
import { type Column, renderTable } from '../table.ts';
import type { Style } from '../terminal.ts';
import { wrap } from '../wrap.ts';
import {
  countText,
  evidenceName,
  groupsOf,
  isProven,
  mainEvidence,
  onWorker,
  provenAt,
} from '../../ralph/proof-rows.ts';
import type { CheckedBy, ProofReport } from './report.ts';

const styles: Readonly<Record<ScenarioState, Style>> = {
  proven: 'green',
  failing: 'red',
  stale: 'yellow',
  linked: 'yellow',
  unlinked: 'yellow',
};

const marks: Readonly<Record<ScenarioState, string>> = {
  proven: '✔',
  failing: '✘',
  stale: '●',
  linked: '●',
  unlinked: '·',
};

/** The proof of a change on a terminal: its scenarios by requirement, why some are not proven, and what to do next. */
export const renderProof = (report: ProofReport, canvas: Canvas, now: Date): string[] => {
  const lines = [
    ...titleLines(report, canvas, now),
    ...scenarioLines(report, canvas),
    ...unknownLines(report, canvas),
    '',
    ...commandLines(nextOf(report), canvas.style),
  ];
  return lines.map(canvas.symbols.replace);
};

const titleLines = (report: ProofReport, canvas: Canvas, now: Date): string[] => {
  const { change, count, gate, archived } = report;
  const { style, columns, symbols } = canvas;
  const isWhole = isProven(count);
  const name = `${oneLine(change)}${archived ? ' (archived)' : ''}`;
  const mark = style(isWhole ? 'green' : 'yellow', isWhole ? marks.proven : marks.linked);
  const text = count.total === 0 ? 'no scenarios' : countText(count);
  return [
    `${mark} ${style('bold', truncate(name, columns - 2, symbols.ellipsis))}`,
    ...fact('Proof', text, canvas),
    ...(gate === null
      ? fact('Verified', 'never: no gate has run', canvas)
      : fact('Verified', checkedText(gate, now), canvas)),
  ];
};

/** A worker's own words for itself are text from outside. */
const checkedText = ({ run, iteration, at, worker }: CheckedBy, now: Date): string =>
  `iteration ${iteration} of run ${oneLine(run)}${onWorker(worker, oneLine)}, ${timeAgo(at, now)}`;

const indent = '    ';
const reasonIndent = '      ';

const scenarioLines = ({ scenarios }: ProofReport, canvas: Canvas): string[] => {
  if (scenarios.length === 0) return [];
  const { style, columns, symbols } = canvas;
  const groups = groupsOf(scenarios);
  const rows = groups.flatMap((group) => group.scenarios);
  const [title = '', ...lines] = renderTable(tableColumns, rows, { ...canvas, columns: columns - indent.length });
  const shown = new Map(rows.map((row, index) => [row, lines[index]!]));
  return [
    '',
    `${indent}${title}`,
    ...groups.flatMap(({ requirement, scenarios: inGroup, proven }) => {
      const count = `  ${proven}/${inGroup.length}`;
      const name = truncate(oneLine(requirement ?? 'Other scenarios'), columns - 2 - count.length, symbols.ellipsis);
      return [
        `  ${style('bold', name)}${style('dim', count)}`,
        ...inGroup.flatMap((row) => [`${indent}${shown.get(row)!}`, ...reasonLines(row, canvas)]),
      ];
    }),
  ];
};

const reasonLines = ({ reason }: ScenarioProof, { style, columns }: Canvas): string[] =>
  reason === null
    ? []
    : wrap(oneLine(reason), columns - reasonIndent.length).map((line) => `${reasonIndent}${style('dim', line)}`);

const tableColumns: readonly Column<ScenarioProof>[] = [
  { title: 'state', value: ({ state }) => `${marks[state]} ${state}`, style: ({ state }) => styles[state] },
  { title: 'scenario', value: ({ title }) => oneLine(title), min: 18 },
  { title: 'test or command', value: evidenceCell, min: 16, drop: 3 },
  { title: '#', numeric: true, value: ({ proof }) => (proof === null ? '' : String(proof.iteration)), drop: 1 },
  { title: 'commit', value: provenAt, drop: 2 },
];

function evidenceCell(row: ScenarioProof): string {
  const evidence = mainEvidence(row);
  if (evidence === null) return '';
  const others = row.evidence.length - 1;
  return `${oneLine(evidenceName(evidence))}${others > 0 ? ` and ${others} more` : ''}`;
}

const maxUnknown = 5;

const unknownLines = ({ unknown }: ProofReport, canvas: Canvas): string[] => {
  if (unknown.length === 0) return [];
  const left = unknown.length - maxUnknown;
  return [
    '',
    ...unknown
      .slice(0, maxUnknown)
      .flatMap(({ id, where }, index) =>
        fact(index === 0 ? 'Unknown IDs' : '', `${oneLine(id)} (${oneLine(where)})`, canvas),
      ),
    ...(left > 0 ? fact('', `and ${left} more`, canvas) : []),
  ];
};

/** What to do next. */
const nextOf = (report: ProofReport): Next[] => {
  const { change, count, run, archived } = report;
  const file: Next = ['Export', commandLine('spool', 'proof', change, '--html', '--output', 'proof.html')];
  if (archived) return [file];
  if (run?.status === 'running') return [['Follow', commandLine('spool', 'logs', change, '--follow')]];
  if (!isProven(count))
    return count.total === 0 ? [] : [['Prove', commandLine('spool', 'ralph', change, '--require-scenarios')]];
  return [...finishing(report), file];
};

/** A branch is published or landed, and what has landed is archived. */
const finishing = ({ change, run, landed }: ProofReport): Next[] => {
  if (run === null) return [];
  if (run.workspace?.branch && !landed)
    return [
      ['Publish', commandLine('spool', 'publish', change)],
      ['Land', commandLine('spool', 'land', change)],
    ];
  return hasArchive(run.source) ? [['Archive', commandLine('spool', 'archive', change)]] : [];
};
