import { expect, test } from 'vitest';
import { safeJson, withoutControls } from '../../src/text/controls.ts';
import { createEventStream } from '../../src/harness/decode.ts';
import { findErrorLine } from '../../src/harness/error-line.ts';
import { problemEvent } from '../../src/harness/problem.ts';
import { resetTime } from '../../src/harness/reset-time.ts';
import { importsOf } from '../../src/guard/deciders/imports.ts';
import { includesIn, partOf, rulesOf } from '../../src/guard/deciders/parts.ts';
import { shellCommands } from '../../src/guard/deciders/shell.ts';
import { fileCriteria } from '../../src/changes/file/criteria.ts';
import { kiroCriteria } from '../../src/changes/kiro/criteria.ts';
import { scenariosInSpec } from '../../src/changes/scenarios/in-specs.ts';
import { toScenarios } from '../../src/changes/scenarios/scenarios.ts';
import { verifiedTasks } from '../../src/changes/scenarios/task-commands.ts';
import { mergeSpec } from '../../src/changes/specs/merge.ts';
import { missingTasks } from '../../src/changes/tasks/missing.ts';
import { parseTasks, taskTitles } from '../../src/changes/tasks/parse.ts';
import { isUntouchedProposal } from '../../src/changes/spool/templates.ts';
import { visibleTextOf } from '../../src/changes/visible-text.ts';
import { wordingOf } from '../../src/changes/wording.ts';
import { namedByWords, namedInScript } from '../../src/trust/words.ts';
import { declarationsIn } from '../../src/proof/declarations.ts';
import { referencesIn } from '../../src/proof/references.ts';
import { linksInSource } from '../../src/proof/source-links.ts';
import { decodeReport } from '../../src/proof/reports/decode.ts';
import { readGo } from '../../src/proof/reports/go.ts';
import { readJunit } from '../../src/proof/reports/junit.ts';
import { ReportProblem } from '../../src/proof/reports/report.ts';
import { readTap } from '../../src/proof/reports/tap.ts';
import { cleanText } from '../../src/ralph/promise/clean.ts';
import { judgeEnding, tagOnly } from '../../src/ralph/promise/judge-ending.ts';
import { createSearch } from '../../src/ralph/promise/search.ts';
import { isTrailer } from '../../src/ralph/promise/trailer.ts';
import { createRedactor } from '../../src/secrets/redact.ts';
import { oneLine, truncate } from '../../src/report/shorten.ts';
import { symbolsFor } from '../../src/report/symbols.ts';
import { renderTable } from '../../src/report/table.ts';
import { wrap } from '../../src/report/wrap.ts';

const canvas = { style: (_: string, text: string) => text, columns: 80, symbols: symbolsFor({}) };

/** Repeated texts: what files and agent output consist of, and what makes a search restart at every position. */
const pumps = [
  [...' \t\n\ra0-#*>`~|:=[(<"\'_/$!{\u2028\u001b😀'],
  ['- [ ] a\n', '- [ ] ', '  - [x]* b\n', '### Task 1: a\n', '### Requirement: ', '**Status**: [ ]\n', '> '],
  [
    '```\n',
    '```a\n',
    '~~~\n',
    '~~~a\n',
    '````',
    '`` ',
    '<!--',
    '<!--\n',
    '<?',
    '<!x',
    '[a]: # (',
    '-->',
    '|-|-|\n',
    '|a|b|\n',
    '---\n',
    '===\n',
  ],
  ['## Acceptance Criteria\n', '#### Scenario: a\n', '**AC1:** a\n', '**Verify**: `', '**a**:\n', '(AC: 1', '1.1 a\n'],
  [
    '@scenario ',
    '@scenario a/',
    '// @scenario a\n',
    "it('",
    "it('a', 1);\n",
    'it.each([',
    ')(',
    'def test_a():\n',
    'fn a\n',
  ],
  ['ok 1 - a\n', 'ok 1 - # ', '    ok\n', '1..1\n', 'TAP version 13\n', '<a>', '<a b="', '&#0;', '{"Action":"run"}\n'],
  ['<promise>', '<promise>COMPLETE</promise>\n', '<promise>COMPLETE', '</promise> ', '&lt;promise&gt;', 'All done. '],
  ['eyJ', 'eyJ-', 'eyJabcdefghijk.', 'sk-', 'ghp_', '://a:', '://a:bcdefgh@', '-----BEGIN PRIVATE KEY-----\n'],
  [
    '\u001b]52;c;',
    '\u001b[',
    '\u001b[31m',
    '\u009b',
    '{"a":',
    '{"',
    '"',
    'Error: ',
    'expected ',
    "thread '",
    'resets ',
  ],
  [
    '${a:-',
    '$(',
    '$(a ',
    '<<a\n',
    "'",
    '"$(',
    'a=1\n',
    'a: b\n',
    '\ta\n',
    'a$(b)=$(c)\n',
    'from "./',
    'import ',
    '1. ',
    'I  , in ,  ',
  ],
].flat();

const promises = { completionPromise: 'COMPLETE', blockedPromise: 'BLOCKED' };
const reading = { isEcho: () => false, isTrailer: (line: string) => isTrailer(line), hint: null };
const redactor = createRedactor({ API_KEY: 'correct-horse-battery' });
const files = (text: string) => ({ read: () => text, isFile: () => false, list: () => [] });

/** Functions that read untrusted text. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  redactor: (text) => redactor.text(text),
  'streaming redactor': (text) => {
    const stream = redactor.stream();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 65_536) stream.pass(bytes.subarray(at, at + 65_536));
    stream.end();
  },
  'promise search': (text) => {
    const search = createSearch(promises, reading);
    for (let at = 0; at < text.length; at += 10_000) search.feed(text.slice(at, at + 10_000));
    search.judge();
  },
  'end of text': (text) =>
    judgeEnding(`${text}\n<promise>COMPLETE</promise>`, { text: 'COMPLETE', tagName: 'promise' }, tagOnly),
  cleaning: (text) => cleanText(text),
  'trailer lines': (text) => text.split('\n').map((line) => isTrailer(line)),
  decoder: (text) => {
    const stream = createEventStream({ stdout: () => null, end: () => [] }, () => {});
    stream.write('stdout', Buffer.from(text));
    stream.write('stderr', Buffer.from(text));
    stream.end();
  },
  'error line in output': (text) => findErrorLine(text.split('\n'), { own: true }),
  'provider error': (text) => problemEvent({ message: text }),
  'reset time': (text) => resetTime(`resets ${text}`, new Date()),
  tasks: (text) => parseTasks(text),
  'merge of specs': (text) =>
    mergeSpec({ capability: 'a', change: 'b', main: text, delta: `## ADDED Requirements\n${text}`, retire: false }),
  'scenarios of specs': (text) =>
    toScenarios(
      scenariosInSpec({ capability: 'a', path: 'a', text: `### Requirement: a\n#### Scenario: b\n${text}` }),
      verifiedTasks(`- [ ] a\n- **Verify**: \`a\`\n${text}`),
    ),
  'lists of criteria': (text) =>
    [text, `## Acceptance Criteria\n${text}`].map((each) => [
      toScenarios(fileCriteria(each, 'a.md'), []),
      kiroCriteria(each, { name: 'a', path: 'a' }),
    ]),
  'tags in sources': (text) => [
    referencesIn(text),
    ['a.ts', 'a.py', 'a.rs', 'a.kt', 'a.bats'].map((file) => [declarationsIn(file, text), linksInSource(file, text)]),
  ],
  reports: (text) =>
    [readTap, readGo, readJunit, (each: string) => decodeReport(Buffer.from(each))].map((read) =>
      [text, `1..1\n${text}`, `<testsuite><testcase name="a">${text}`].map((each) => orProblem(() => read(each))),
    ),
  'the visible text': visibleTextOf,
  'missing tasks': (text) => missingTasks(taskTitles(text), taskTitles(`${text}x`)),
  wording: (text) => wordingOf(text),
  proposal: (text) => isUntouchedProposal(text),
  'shell command': (text) => shellCommands(text),
  'words of a command': (text) => namedByWords(text, files(''), { all: true }),
  'words of a script': (text) => namedInScript('a.js', files(text), 20_000),
  makefile: (text) => [rulesOf(text, 'a'), includesIn(text)],
  'parts of files': (text) => ['[a', 'shell settings', 'a:', 'scripts.a'].map((part) => partOf(text, part)),
  imports: (text) => [importsOf(files(text), 'a.js'), importsOf(files(text), 'a.py')],
  'terminal output': (text) => [
    withoutControls(text),
    oneLine(text),
    truncate(text, 80),
    wrap(text, 80),
    renderTable([{ value: () => text, min: 4 }], [text], canvas),
  ],
  'JSON for a terminal': (text) => safeJson(text),
};

/** What is wrong with a report is thrown. */
const orProblem = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    if (error instanceof ReportProblem) return error;
    throw error;
  }
};

const n = 16_000;
/** Well above the noise of a busy machine for work of a millisecond. Quadratic work takes seconds, in every round. */
const floorMs = 100;

const cpuMs = (work: () => unknown): number => {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
};

const best = (work: () => unknown): number => Math.min(cpuMs(work), cpuMs(work), cpuMs(work));

const textOf = (pump: string, length: number) => `${pump.repeat(Math.ceil(length / pump.length))}\0`;

test.each(Object.entries(readers))('takes linear time: %s', (_, read) => {
  const slow = pumps.flatMap((pump) => {
    const [short, long] = [textOf(pump, n), textOf(pump, 4 * n)];
    if (cpuMs(() => read(long)) < floorMs || best(() => read(long)) < floorMs) return [];
    const rounds = Array.from({ length: 5 }, () => [best(() => read(short)), best(() => read(long))] as const);
    const isLinear = rounds.some(([msAtN, msAt4N]) => msAt4N <= 8 * msAtN);
    return isLinear ? [] : [`${JSON.stringify(pump)}: ${JSON.stringify(rounds)}`];
  });
  expect(slow).toEqual([]);
});

test('takes linear time: a merge of many requirements', () => {
  const many = (count: number, verb: string) =>
    Array.from(
      { length: count },
      (_, at) => `### Requirement: R${at}\n\nIt MUST ${verb}.\n\n#### Scenario: One\n\n- **THEN** it does\n`,
    ).join('\n');
  const merge = (count: number) => {
    const main = `# a\n\n## Purpose\n\nIt works.\n\n## Requirements\n\n${many(count, 'work')}`;
    const delta = `## MODIFIED Requirements\n\n${many(count, 'go')}`;
    return mergeSpec({ capability: 'a', change: 'b', main, delta, retire: false });
  };
  expect(merge(10).kind).toBe('written');
  const [short, long] = [best(() => merge(1000)), best(() => merge(4000))];
  expect(long).toBeLessThan(Math.max(floorMs, 8 * short));
});
