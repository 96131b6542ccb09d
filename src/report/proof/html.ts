import { createHash } from 'node:crypto';
import { chartedIteration } from '../../charts/charted.ts';
import { chartsOf } from '../../charts/spec.ts';
import { chartSvg, type Colors } from '../../charts/svg.ts';
import type { ScenarioProof } from '../../ralph/proof.ts';
import { hasPassed } from '../../ralph/gate-result.ts';
import type { GateRun, IterationRecord } from '../../ralph/record.ts';
import { iterationUsage, spentUsage } from '../../ralph/usage.ts';
import { duration, lineChanges, pluralise } from '../../text/format.ts';
import { escapeHtml } from '../../text/html.ts';
import { costText, usageText } from '../figures.ts';
import { endWord } from '../run-end.ts';
import { oneLine } from '../shorten.ts';
import { outcomeOf } from '../trouble.ts';
import { proofStyle } from './html-style.ts';
import {
  countText,
  evidenceName,
  groupsOf,
  isProven,
  mainEvidence,
  onWorker,
  provenAt,
} from '../../ralph/proof-rows.ts';
import type { ProofReport } from './report.ts';

/** The proof of a change as one HTML file, which loads nothing and needs no script. */
export const proofHtml = (report: ProofReport, now: Date): string => {
  const { change, title, archived, count } = report;
  const name = `${escapeHtml(change)}${archived ? ' (archived)' : ''}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Proof of ${name}</title>
<style>${proofStyle}</style>
</head>
<body>
<main>
<header>
<h1>Proof of ${name}</h1>
${title === null ? '' : `<p>${escapeHtml(oneLine(title))}</p>`}
<p class="result ${isProven(count) ? 'proven' : 'open'}">${count.total === 0 ? 'No scenarios' : countText(count)}</p>
${gateLine(report)}
</header>
${sections(report).join('\n')}
<footer><p>Written by Spool on <time datetime="${now.toISOString()}">${now.toISOString().slice(0, 16).replace('T', ' ')} UTC</time>.</p></footer>
</main>
</body>
</html>
`;
};

const hash = createHash('sha256').update(proofStyle).digest('base64');
const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;

const gateLine = ({ gate }: ProofReport): string =>
  gate === null
    ? '<p class="quiet">No gate has run yet.</p>'
    : `<p class="quiet">Verified in iteration ${gate.iteration} of run ${escapeHtml(gate.run)}${onWorker(gate.worker, text)}, <time datetime="${escapeHtml(gate.at)}">${escapeHtml(gate.at)}</time></p>`;

const sections = (report: ProofReport): string[] => [
  ...groupsOf(report.scenarios).map(
    ({ requirement, scenarios, proven }) =>
      `<section><h2>${text(requirement ?? 'Other scenarios')} <span class="quiet">${proven}/${scenarios.length}</span></h2>
${table(`Scenarios of ${requirement ?? 'no requirement'}`, scenarioHeadings, scenarios.map(scenarioCells))}</section>`,
  ),
  ...unknownSection(report),
  ...runSection(report),
  ...taskSection(report),
];

const scenarioHeadings = ['State', 'Scenario', 'Test or command', 'Iteration', 'Commit'];

const scenarioCells = (row: ScenarioProof): string[] => {
  const evidence = mainEvidence(row);
  const command = evidence === null || evidence.test === null ? null : evidence.command;
  return [
    `<span class="state ${row.state}">${row.state}</span>`,
    `${text(row.title)}<br><code class="quiet">${text(row.id)}</code>${row.reason === null ? '' : `<br><span class="reason">${text(row.reason)}</span>`}`,
    evidence === null
      ? ''
      : `<code>${text(evidenceName(evidence))}</code>${command === null ? '' : `<br><code class="quiet">${text(command)}</code>`}`,
    row.proof === null ? '' : String(row.proof.iteration),
    `<code class="hash">${escapeHtml(provenAt(row))}</code>`,
  ];
};

const unknownSection = ({ unknown }: ProofReport): string[] =>
  unknown.length === 0
    ? []
    : [
        `<section><h2>IDs in tests that no scenario has</h2>
${table(
  'Unknown IDs',
  ['ID', 'Where'],
  unknown.map(({ id, where }) => [`<code>${text(id)}</code>`, text(where)]),
)}</section>`,
      ];

/** The colors of the style, so that charts follow the theme of the reader. */
const colors: Colors = {
  background: 'var(--surface)',
  text: 'var(--text)',
  line: 'var(--line)',
  'chart-1': 'var(--chart-1)',
  'chart-2': 'var(--chart-2)',
  'chart-3': 'var(--chart-3)',
};

/** A table with more rows is of no use to a reader. */
const maxIterations = 500;

const runSection = ({ run, records, change }: ProofReport): string[] => {
  if (run === null) return [];
  const agent = run.model === null ? run.harness : `${run.harness} ${run.model}`;
  const spent = usageText(spentUsage(run));
  const facts = [
    `Run ${run.run}`,
    endWord(run.status),
    `${pluralise(run.finishedIterations, 'iteration')} in ${duration(run.elapsedMs)}`,
    agent,
    ...(spent === '' ? [] : [spent]),
  ];
  const gateRuns = records.findLast(({ gate }) => (gate?.runs.length ?? 0) > 0)?.gate?.runs ?? [];
  const left = records.length - maxIterations;
  return [
    `<section><h2>Last run</h2>
<p>${facts.map(text).join(' · ')}</p>
${gateRuns.length === 0 ? '' : table('Commands', ['Command', 'Result', 'Exit code', 'Time'], gateRuns.map(gateCells))}
${charts({ run, records, change })}
${left > 0 ? `<p class="quiet">The first ${pluralise(left, 'iteration')} are left out.</p>` : ''}
${records.length === 0 ? '' : table('Iterations', iterationHeadings, records.slice(-maxIterations).map(iterationCells))}</section>`,
  ];
};

const gateCells = ({ command, outcome, exitCode, durationMs }: GateRun): string[] => [
  `<code>${text(command)}</code>`,
  `<span class="state ${hasPassed({ outcome }) ? 'proven' : 'failing'}">${outcome}</span>`,
  exitCode === null ? '' : String(exitCode),
  duration(durationMs),
];

const charts = ({ run, records, change }: Pick<ProofReport, 'run' | 'records' | 'change'>): string =>
  chartsOf({ iterations: records.map(chartedIteration), view: run })
    .filter(
      ({ x, series }) => x.values.length > 0 && series.some(({ values }) => values.some((value) => value !== null)),
    )
    .map(
      (spec) =>
        `<figure role="img" aria-label="${escapeHtml(spec.title)}. The values are in the table of iterations.">${chartSvg(spec, colors, change)}</figure>`,
    )
    .join('\n');

const iterationHeadings = ['#', 'Result', 'Time', 'Tasks', 'Files', 'Lines', 'Cost', 'Commit'];

const iterationCells = (record: IterationRecord): string[] => {
  const { git, tasks } = record;
  const { result, reason } = outcomeOf(record);
  return [
    String(record.iteration),
    `${result}${reason === null ? '' : `<br><span class="reason">${text(reason)}</span>`}`,
    duration(record.durationMs),
    tasks === null ? '' : `${tasks.done}/${tasks.total}`,
    git === null ? '' : String(git.filesChanged),
    git === null || git.filesChanged === 0 ? '' : lineChanges(git),
    costText(iterationUsage(record)).replaceAll('<', '&lt;'),
    `<code class="hash">${escapeHtml(record.commit?.slice(0, 8) ?? '')}</code>`,
  ];
};

const taskSection = ({ tasks }: ProofReport): string[] =>
  tasks.length === 0
    ? []
    : [
        `<section><h2>Tasks <span class="quiet">${tasks.filter(({ done }) => done).length}/${tasks.length}</span></h2>
<ul class="tasks">${tasks.map(({ title, done }) => `<li><span class="state ${done ? 'proven' : 'linked'}">${done ? 'done' : 'open'}</span> ${text(title)}</li>`).join('\n')}</ul></section>`,
      ];

/** Names are text, cells are HTML. */
const table = (name: string, headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<div class="scroll" tabindex="0" role="region" aria-label="${text(name)}"><table>
<thead><tr>${headings.map((heading) => `<th scope="col">${heading}</th>`).join('')}</tr></thead>
<tbody>
${rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n')}
</tbody></table></div>`;

const text = (words: string): string => escapeHtml(oneLine(words));
