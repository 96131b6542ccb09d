// npm run bench: what Spool costs, as ratios against floors of the same run. Not a test: nothing here fails a build.
//   --quick           smaller sizes, less than a minute
//   --json <file>     where the figures are written; bench/latest.json without it
//   --compare <file>  shows them beside those of an earlier run
//   --docs            measures how cost grows as well, and puts all of it into docs/performance.md
//   --only <parts>    such as start,iteration
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureGrowth } from './growth.mjs';
import { makeBase, root } from './places.mjs';
import { plot } from './plot.mjs';
import { historyRows, iterationRows, listRows, outputRows, packageRows, repositoryRows, startRows } from './rows.mjs';

/** @typedef {import('./rows.mjs').Row} Row */

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string', default: 'bench/latest.json' },
    compare: { type: 'string' },
    only: { type: 'string' },
    docs: { type: 'boolean', default: false },
  },
});

/** @param {string} line */
const say = (line) => process.stderr.write(`${line}\n`);

const parts = {
  start: startRows,
  iteration: iterationRows,
  repository: repositoryRows,
  output: outputRows,
  history: historyRows,
  list: listRows,
  package: packageRows,
};

const setting = { base: makeBase(), quick: options.quick, say };

const measure = () =>
  Object.entries(parts)
    .filter(([name]) => options.only === undefined || options.only.split(',').includes(name))
    .flatMap(([name, rows]) => {
      say(`${name} …`);
      return rows(setting);
    });

/** @param {Row} row */
const cells = ({ work, floor, goal, ratio, unit, note = '' }) => [
  work,
  `${number(ratio.value)} ${unit}`,
  floor,
  `${number(ratio.floor)} ${unit}`,
  `${ratio.ratio.toFixed(2)} ×`,
  ratio.low === ratio.high ? '' : `${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)}`,
  `${goal} ×`,
  ratio.ratio <= goal ? 'holds' : 'MISSED',
  note,
];

/** @param {number} value */
const number = (value) => (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0));

/** @param {readonly (readonly string[])[]} table */
const print = (table) => {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => [...(row[column] ?? '')].length)));
  for (const row of table)
    process.stdout.write(
      `${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    );
};

/** @param {readonly Row[]} rows @param {string} file */
const printComparison = (rows, file) => {
  const before = /** @type {{ rows: Row[] }} */ (JSON.parse(readFileSync(file, 'utf8'))).rows;
  const key = (/** @type {Row} */ row) => `${row.work} / ${row.floor}`;
  const table = rows.flatMap((row) => {
    const old = before.find((other) => key(other) === key(row));
    if (!old) return [];
    const times = row.ratio.ratio / old.ratio.ratio;
    const word = times > 1.2 ? 'WORSE' : times < 1 / 1.2 ? 'better' : 'the same';
    return [[key(row), `${old.ratio.ratio.toFixed(2)} ×`, `${row.ratio.ratio.toFixed(2)} ×`, word]];
  });
  print([['compared with ' + file, 'then', 'now', ''], ...table]);
};

/** @param {readonly Row[]} measured @param {readonly import('./growth.mjs').Series[]} series */
const writeDocs = (measured, series) => {
  const page = join(root, 'docs', 'performance.md');
  const head = ['work', 'Spool', 'floor', '', 'ratio', 'middle half', 'goal', ''];
  const table = [head, head.map(() => '---'), ...measured.map((row) => cells(row).slice(0, head.length))];
  const lines = [
    `Measured on ${new Date().toISOString().slice(0, 10)}, with Node ${process.versions.node} and ${gitVersion()}, on ${cpus().length} cores.`,
    '',
    ...table.map((row) => `| ${row.join(' | ')} |`),
  ];
  const text = readFileSync(page, 'utf8');
  const between = /(<!-- figures -->\n)[\s\S]*(\n<!-- end of figures -->)/;
  writeFileSync(
    page,
    text.replace(between, (_, start, end) => `${start}\n${lines.join('\n')}\n${end}`),
  );
  execFileSync(join(root, 'node_modules', '.bin', 'prettier'), ['--write', '--log-level=warn', page]);
  writeFileSync(join(root, 'docs', 'performance.svg'), plot(series));
};

const gitVersion = () => execFileSync('git', ['--version'], { encoding: 'utf8' }).trim().replace(' version', '');

const rows = measure();
print([['work', 'Spool', 'floor', '', 'ratio', 'middle half', 'goal', '', ''], ...rows.map(cells)]);
const missed = rows.filter(({ ratio, goal }) => ratio.ratio > goal);
if (missed.length > 0) say(`warning: missed: ${missed.map(({ work }) => work).join('; ')}`);
if (options.compare) printComparison(rows, options.compare);
const growth = options.docs ? measureGrowth(setting) : [];
if (options.docs) writeDocs(rows, growth);
mkdirSync(dirname(options.json), { recursive: true });
const machine = { node: process.version, platform: process.platform, cores: cpus().length };
writeFileSync(
  options.json,
  `${JSON.stringify({ at: new Date().toISOString(), quick: options.quick, machine, rows, growth }, null, 2)}\n`,
);
