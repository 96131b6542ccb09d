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
import { agentRows } from './agents.mjs';
import { measureGrowth } from './growth.mjs';
import { makeBase, root } from './places.mjs';
import { plot } from './plot.mjs';
import {
  historyRows,
  iterationRows,
  listRows,
  outputRows,
  packageRows,
  repositoryRows,
  sandboxRows,
  startRows,
} from './rows.mjs';

/** @typedef {import('./rows.mjs').Row} Row */

/** An error that the caller can fix. */
class BadCall extends Error {}

const readOptions = () => {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        json: { type: 'string', default: 'bench/latest.json' },
        compare: { type: 'string' },
        only: { type: 'string', default: Object.keys(parts).join(',') },
        docs: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new BadCall(/** @type {Error} */ (error).message, { cause: error });
  }
};

/** @param {string} file @returns {readonly Row[]} */
const readRows = (file) => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).rows.filter(Boolean);
  } catch (error) {
    throw new BadCall(`${file} holds no figures of an earlier run: ${/** @type {Error} */ (error).message}`, {
      cause: error,
    });
  }
};

/** @param {string} line */
const say = (line) => process.stderr.write(`${line}\n`);

const parts = {
  start: startRows,
  iteration: iterationRows,
  sandbox: sandboxRows,
  repository: repositoryRows,
  output: outputRows,
  history: historyRows,
  list: listRows,
  package: packageRows,
  agents: agentRows,
};

/** @param {readonly string[]} wanted @param {import('./rows.mjs').Setting} setting */
const measure = (wanted, setting) =>
  Object.entries(parts)
    .filter(([name]) => wanted.includes(name))
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

/**
 * Where the middle halves overlap, the difference may be chance.
 * @param {Row['ratio']} then @param {Row['ratio']} now
 */
const wordFor = (then, now) => {
  if (now.ratio > 1.2 * then.ratio && now.low > then.high) return 'WORSE';
  return then.ratio > 1.2 * now.ratio && then.low > now.high ? 'better' : 'the same';
};

/** @param {readonly Row[]} rows @param {readonly Row[]} before */
const printComparison = (rows, before) => {
  const key = (/** @type {Row} */ row) => `${row.work} / ${row.floor}`;
  const table = rows.flatMap((row) => {
    const old = before.find((other) => key(other) === key(row));
    if (!old) return [];
    return [
      [key(row), `${old.ratio.ratio.toFixed(2)} ×`, `${row.ratio.ratio.toFixed(2)} ×`, wordFor(old.ratio, row.ratio)],
    ];
  });
  print([['compared with', 'then', 'now', ''], ...table]);
  const missing = rows.length - table.length;
  if (missing > 0) say(`${missing} of ${rows.length} figures are not among the earlier ones`);
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

const main = () => {
  const options = readOptions();
  const wanted = options.only.split(',');
  const unknown = wanted.find((name) => !Object.hasOwn(parts, name));
  if (unknown !== undefined) throw new BadCall(`no part "${unknown}"; there are: ${Object.keys(parts).join(', ')}`);
  const isWhole = !options.quick && wanted.length === Object.keys(parts).length;
  if (options.docs && !isWhole) throw new BadCall('--docs needs all figures: leave out --quick and --only');
  const earlier = options.compare === undefined ? null : readRows(options.compare);

  const setting = { base: makeBase(), quick: options.quick, say };
  const rows = measure(wanted, setting);
  print([['work', 'Spool', 'floor', '', 'ratio', 'middle half', 'goal', '', ''], ...rows.map(cells)]);
  const missed = rows.filter(({ ratio, goal }) => ratio.ratio > goal);
  if (missed.length > 0) say(`warning: missed: ${missed.map(({ work }) => work).join('; ')}`);
  if (earlier) printComparison(rows, earlier);
  const growth = options.docs ? measureGrowth(setting) : [];
  if (options.docs) writeDocs(rows, growth);
  mkdirSync(dirname(options.json), { recursive: true });
  const machine = { node: process.version, platform: process.platform, cores: cpus().length };
  const figures = { at: new Date().toISOString(), quick: options.quick, machine, rows, growth };
  writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
};

try {
  main();
} catch (error) {
  if (!(error instanceof BadCall)) throw error;
  say(`bench: ${error.message}`);
  process.exitCode = 2;
}
