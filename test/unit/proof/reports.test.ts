import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readReport } from '../../../src/proof/reports/read-report.ts';
import { checkDamagedReports } from '../../support/damaged-reports.ts';
import { root } from '../../support/project.ts';
import { recordedReports } from '../../support/reports.ts';

const folder = join(root, 'test/fixtures/reports');

const read = async (text: string | Buffer, name = 'report') => {
  const report = await readReport(Buffer.from(text), name);
  if (report.kind !== 'results') return report;
  return { format: report.format, tests: report.results.map(({ status, title }) => `${status} ${title}`) };
};

const problem = async (text: string | Buffer, name = 'report.x') => {
  const report = await readReport(Buffer.from(text), name);
  return report.kind === 'problem' ? report.message : report.kind;
};

const odd = `odd <b> & "quotes" 'single' \\\\ 日本語 🚀 # not a directive`;
const passes = 'stays signed in @scenario auth/login/stays-signed-in';
const fails = 'refuses a wrong password @scenario auth/login/wrong-password';
const skipped = 'is skipped @scenario auth/login/skipped';
const todo = 'is to do @scenario auth/login/to-do';
const same = ['passed has the same name', 'passed has the same name'];

const inSuites = (ofTodo: string) => [
  `passed login > ${passes}`,
  `failed login > with a password > ${fails}`,
  `passed login > with a password > ${odd}`,
  `skipped login > with a password > ${skipped}`,
  `${ofTodo} login > with a password > ${todo}`,
];
const oneName = (ofTodo: string) => inSuites(ofTodo).map((each) => each.replaceAll(' > ', ' '));

const ofBats = [
  `passed ${passes}`,
  `failed ${fails}`,
  `passed odd <b> & 'single' 日本語 🚀`,
  `skipped ${skipped}`,
  'passed is named by a comment',
];

/** What each recorded report says. */
const expected: Readonly<Record<string, { format: string; tests: string[] }>> = {
  'vitest-junit.xml': { format: 'junit', tests: ['failed test/broken.test.js', ...inSuites('skipped'), ...same] },
  'vitest-json.json': { format: 'jest', tests: ['failed /project/test/broken.test.js', ...inSuites('todo'), ...same] },
  'vitest-tap.tap': { format: 'tap', tests: ['failed test/broken.test.js', ...inSuites('todo'), ...same] },
  'vitest-tap-flat.tap': { format: 'tap', tests: ['failed test/broken.test.js', ...inSuites('todo'), ...same] },
  'jest.json': { format: 'jest', tests: [...inSuites('todo'), ...same, 'failed /project/test/broken.test.js'] },
  // It reports what is to do as passed, and does not report files that cannot be loaded.
  'jest-junit.xml': { format: 'junit', tests: [...oneName('passed'), ...same] },
  'node-test-tap.tap': { format: 'tap', tests: [...inSuites('todo'), ...same] },
  'node-test-junit.xml': { format: 'junit', tests: [...inSuites('todo'), ...same] },
  'mocha-xunit.xml': {
    format: 'junit',
    tests: [
      ...same,
      ...inSuites('skipped').map((each) => each.replace('login > with a password', 'login with a password')),
    ],
  },
  'tape.tap': {
    format: 'tap',
    tests: [`passed ${passes}`, `failed ${fails}`, `passed ${odd}`, `skipped ${skipped}`, `todo ${todo}`],
  },
  'bats.tap': { format: 'tap', tests: ofBats },
  'bats-junit.xml': { format: 'junit', tests: ofBats },
  'pytest-junit.xml': {
    format: 'junit',
    tests: [
      'passed tests.test_login.TestLogin > test_stays_signed_in',
      'failed tests.test_login.TestLogin > test_wrong_password',
      'passed tests.test_login.TestLogin > test_odd[a b]',
      'passed tests.test_login.TestLogin > test_odd[\\u65e5\\u672c\\u8a9e]',
      'passed tests.test_login.TestLogin > test_odd[<x>]',
      'skipped tests.test_login > test_skipped',
      'skipped tests.test_login > test_to_do',
      'failed tests.test_login > test_error',
    ],
  },
  'go-test.json': {
    format: 'go',
    tests: [
      'passed example.com/login/auth > TestStaysSignedIn',
      `failed example.com/login/auth > TestLogin/${fails.replaceAll(' ', '_')}`,
      'passed example.com/login/auth > TestLogin/odd_<b>_&_日本語_🚀',
      `skipped example.com/login/auth > TestLogin/${skipped.replaceAll(' ', '_')}`,
      'failed example.com/login/auth > TestLogin',
      'failed example.com/login/auth > TestPanics',
      'failed example.com/login/broken',
    ],
  },
};

describe('reports of real runners', () => {
  test('all of them are covered', () => {
    const files = readdirSync(folder).filter((name) => name !== 'suites.mjs');
    expect(Object.keys(expected).toSorted()).toEqual(files.toSorted());
    expect(recordedReports().map(({ name }) => name)).toEqual(files.toSorted());
  });

  test.each(Object.entries(expected))('%s', async (name, found) => {
    const bytes = readFileSync(join(folder, name));
    expect(await read(bytes, name)).toEqual(found);
    // In the output of a command that has other lines around it.
    if (found.format !== 'junit') expect(await read(`\n> npm test\n\n${bytes}\nnpm error\n`)).toEqual(found);
    const variants = [
      bytes.toString('utf8').replaceAll('\r\n', '\n').replaceAll('\n', '\r\n'),
      Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
      Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(bytes.toString('utf8'), 'utf16le')]),
      Buffer.from(bytes.toString('utf8').replace(/encoding=(["'])[^"']*\1/, 'encoding="utf-16"'), 'utf16le'),
    ];
    for (const variant of variants) expect(await read(variant, name)).toEqual(found);
  });

  test('messages, files and durations', async () => {
    const of = async (name: string, title: string) => {
      const report = await readReport(readFileSync(join(folder, name)), name);
      return report.kind === 'results' ? report.results.find((each) => each.title.includes(title)) : undefined;
    };
    const message = expect.stringContaining('expected <1> & "2"');
    const ms = expect.any(Number);
    expect(await of('vitest-junit.xml', fails)).toMatchObject({ file: 'test/login.test.js', message, durationMs: ms });
    expect(await of('vitest-json.json', fails)).toMatchObject({ file: '/project/test/login.test.js', message });
    expect(await of('vitest-tap.tap', fails)).toMatchObject({ file: 'test/login.test.js', durationMs: ms });
    expect(await of('jest.json', passes)).toMatchObject({ file: '/project/test/login.test.js', message: null });
    expect(await of('mocha-xunit.xml', fails)).toMatchObject({ file: '/project/test/login.test.js', message });
    expect(await of('node-test-tap.tap', fails)).toMatchObject({ file: '/project/test/login.test.js', message });
    expect(await of('node-test-junit.xml', fails)).toMatchObject({ file: null, message, durationMs: ms });
    expect(await of('pytest-junit.xml', 'test_skipped')).toMatchObject({ message: 'later' });
    expect(await of('go-test.json', 'refuses')).toMatchObject({ message: 'login_test.go:10: got <1> & "2"' });
    expect(await of('bats-junit.xml', fails)).toMatchObject({ message: expect.stringContaining('expected <1> & 2') });
    expect(await of('tape.tap', fails)).toMatchObject({ message: expect.stringContaining('is one') });
  });
});

describe('TAP', () => {
  test.each([
    ['1..2\nok\nnot ok', ['passed ', 'failed ']],
    ['ok 1 - a\nok 2 b\n1..2\n', ['passed a', 'passed b']],
    ['1..3\nok 1 - a # SKIP why\nok 2 - b # skipped\nnot ok 3 - c # todo\n', ['skipped a', 'skipped b', 'todo c']],
    ['1..2\nok 1 - see #12\nok 2 - C# \\# SKIP\n', ['passed see #12', 'passed C# # SKIP']],
    ['TAP version 14\n    ok 1 - b\n    1..1\nok 1 - a\n1..1\n', ['passed a > b']],
    [
      '1..1\nok 1 - a {\n  1..2\n  ok 1 - b\n  ok 2 - c {\n    ok 1 - d\n  }\n}\n',
      ['passed a > b', 'passed a > c > d'],
    ],
    ['1..1\n    ok 1 - b\nnot ok 1 - a\n', ['passed a > b', 'failed a']],
    ['1..1\n    ok 1 - b\nok 1 - a # TODO\n', ['todo a > b']],
    ['1..1\nnot ok 1 - a\n# (in test file a.bats)\n', ['failed a']],
    ['TAP version 13\n1..0 # SKIP all\n', []],
    ["1..2\nok 1 - a\n  ---\n  type: 'suite'\n  ...\nnot ok 2 - b\n  ---\n  type: 'suite'\n  ...\n", ['failed b']],
    ["1..1\nok 1 - a # SKIP\n  ---\n  type: 'suite'\n  ...\n", ['skipped a']],
    ['TAP version 13\nok 1 a\n1..1\nTAP version 13\nnot ok 1 b\n1..1\n', ['passed a', 'failed b']],
    ['1..1\nok 1 - a\n  ---\n  not ok 2 - x\n  ...\n', ['passed a']],
    ['1..1\nok 1 - a # time=1.5ms\npragma +strict\nrandom\n', ['passed a']],
  ])('%j', async (text, tests) => {
    expect(await read(text)).toEqual({ format: 'tap', tests });
  });

  test.each([
    ['TAP version 13\nok 1 - a\n', 'r.tap has no plan (1..N), so it may be incomplete.'],
    ['1..3\nok 1 - a\n', 'r.tap is incomplete: 3 tests were planned, and 1 are in it.'],
    ['1..1\n    1..2\n    ok 1 - b\nok 1 - a\n', 'r.tap is incomplete: 2 tests were planned, and 1 are in it.'],
    ['1..1\nok 1 - a\n  ---\n', 'results'],
    ['1..2\nok 1 - a\n  ---\nok 2 - b\n', 'r.tap is incomplete: 2 tests were planned, and 1 are in it.'],
    ['1..2\nok 1\nBail out! No database\n', 'r.tap bailed out (No database).'],
    ['1..2\n', 'r.tap is not a report that Spool reads: JUnit XML, TAP, JSON of Vitest or Jest, or of go test.'],
    [
      Array.from({ length: 200 }, (_, at) => `${' '.repeat(at)}ok 1\n`).join('') + '1..1\n',
      'r.tap is nested more than 100 levels deep.',
    ],
  ])('%j', async (text, message) => {
    expect(
      await problem(text.startsWith(' ') || text.startsWith('ok 1\n ') ? `TAP version 14\n${text}` : text, 'r.tap'),
    ).toBe(message);
  });
});

describe('JUnit', () => {
  const suite = (inner: string) => `<testsuite name="s">${inner}</testsuite>`;

  test.each([
    [suite('<testcase name="a"/>'), ['passed s > a']],
    [suite('<testcase name="a" classname="C"><error message="x"/></testcase>'), ['failed C > a']],
    [suite('<testcase name="a" classname="C"><skipped/><failure/></testcase>'), ['skipped C > a']],
    [suite('<testcase name="a" classname="C"><failure/><skipped type="todo"/></testcase>'), ['todo C > a']],
    [suite('<testcase name="a" classname="C" status="notrun"/>'), ['skipped C > a']],
    [suite('<testcase name="a" classname="C" status="failed"/>'), ['failed C > a']],
    [suite('<testcase name="a" classname="C"><system-out>&lt;failure/></system-out></testcase>'), ['passed C > a']],
    [suite('<testcase name="a" classname="C"><system-out><failure/></system-out></testcase>'), ['passed C > a']],
    [suite('<properties><failure/></properties><testcase name="&#27;&#x41;\u0007"/>'), ['passed s > &#27;A\ufffd']],
    [
      suite('<testcase name="a" classname="C" time="NaN"/><testcase name="a" classname="C" time="1e999"/>'),
      ['passed C > a', 'passed C > a'],
    ],
    ['<?xml version="1.0" encoding="ISO-8859-1"?><testsuites/>', []],
  ])('%j', async (text, tests) => {
    expect(await read(text)).toEqual({ format: 'junit', tests });
  });

  test.each([
    ['<testsuite><testcase name="a"/>', 'is not a complete XML file (line 1: unclosed tag: testsuite)'],
    ['<testsuite>\n<testcase name="a', 'is not a complete XML file (line 2: unclosed tag: testsuite)'],
    ['<html></html>', 'is XML, but not a JUnit report: it begins with <html>'],
    ['<', 'is not a complete XML file (line 1: document must contain a root element)'],
    ['<!DOCTYPE a [<!ENTITY b "c">]><testsuite name="&b;"/>', 'has a DOCTYPE, which no test runner writes'],
    [
      '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><testsuite name="&b;"/>',
      'has a DOCTYPE, which no test runner writes',
    ],
    ['<testsuite name="&b;"/>', 'is not a complete XML file (line 1: undefined entity)'],
    ['<?xml version="1.0" encoding="x-none"?><testsuite/>', 'has an unknown encoding (x-none)'],
    ['<testsuite>'.repeat(200), 'is nested more than 100 levels deep'],
    [
      `<testsuite ${Array.from({ length: 2000 }, (_, at) => `a${at}=""`).join(' ')}/>`,
      'has a tag with too many attributes',
    ],
  ])('%j', async (text, message) => {
    expect(await problem(text, 'r.xml')).toBe(`r.xml ${message}.`);
  });
});

describe('JSON', () => {
  test.each([
    ['{"testResults": []}', 'a.json', 'results'],
    ['{"testResults": [1]}', 'a.json', 'a.json is a report of Jest with an entry that is not an object.'],
    ['{"testResults": [', 'a.json', 'a.json is not valid JSON: it may be incomplete.'],
    ['{"a": 1}', 'a.json', expect.stringContaining('is not a report that Spool reads')],
    ['', 'a.xml', expect.stringContaining('is not a report that Spool reads')],
    ['Compiling…\n1..5\nok\tpkg', 'output', 'results'],
    ['All tests pass.\nok then\n', 'output', 'none'],
    ['', 'output', 'none'],
  ])('%j in %s', async (text, name, expectedMessage) => {
    const found = await problem(text, name);
    if (text.startsWith('Compiling'))
      expect(found).toBe('output is incomplete: 5 tests were planned, and 1 are in it.');
    else expect(found).toEqual(expectedMessage);
  });

  test('deep JSON is no report', async () => {
    expect(await problem('['.repeat(100_000), 'output')).toBe('none');
  });

  test('unknown statuses fail, and prototypes are not values', async () => {
    const text = '{"testResults":[{"name":"a","assertionResults":[{"title":"b","status":"constructor"},{"title":1}]}]}';
    expect(await read(text)).toEqual({ format: 'jest', tests: ['failed b', 'failed '] });
    const go =
      '{"Action":"constructor","Package":"__proto__","Test":"x"}\n{"Action":"pass","Package":"__proto__","Test":"y"}';
    expect(await read(go)).toEqual({
      format: 'go',
      tests: ['passed __proto__ > y', 'failed __proto__ > x', 'failed __proto__'],
    });
  });

  test('a test of Go that runs twice has two results', async () => {
    const event = (action: string) => JSON.stringify({ Action: action, Package: 'p', Test: 'T' });
    const text = `${['run', 'pass', 'run', 'fail'].map(event).join('\n')}\n{"Action":"fail","Package":"p"}`;
    expect(await read(text)).toEqual({ format: 'go', tests: ['passed p > T', 'failed p > T'] });
  });
});

test('no part of a secret remains where a text is shortened', async () => {
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  const before = 'word '.repeat(396);
  const found = async (text: string, name: string) => {
    const report = await readReport(Buffer.from(text), name);
    return report.kind === 'results' ? report.results[0]?.message : report;
  };
  const message = `${before}${secret} ${'more '.repeat(2000)}`;
  expect(
    await found(`<testsuite><testcase name="a"><failure>${message}</failure></testcase></testsuite>`, 'r.xml'),
  ).toBe(before.trim());
  expect(await found(`1..1\nnot ok 1\n  ---\n  ${message}\n  ...\n`, 'r.tap')).toBe(before.trim());
  const go = [{ Action: 'output', Output: message }, { Action: 'fail' }];
  const events = go.map((event) => JSON.stringify({ ...event, Package: 'p', Test: 'T' }));
  expect(await found(events.join('\n'), 'r.json')).toBe(before.trim());
  expect(await problem(`1..1\nok\nBail out! ${'w '.repeat(35)}${secret}`)).not.toContain('ghp_');
});

test('large reports end in bounded time, with results or a problem', async () => {
  const mb = 1024 * 1024;
  const start = process.cpuUsage();
  expect(await problem(Buffer.alloc(65 * mb, 'a'), 'r.xml')).toBe('r.xml is larger than 64 MB.');
  const many = (text: string, size: number) => text.repeat(Math.ceil((size * mb) / text.length));
  const cases: [string, string][] = [
    ['r.xml', `<testsuite>${many('<testcase name="a"/>', 3)}</testsuite>`],
    ['r.xml', `<testsuite>${many('<a>', 1)}`],
    ['r.xml', `<testsuite a="${many('&#0;', 1)}"/>`],
    ['r.xml', `<testsuite><testcase><failure>${many('x', 1)}</failure></testcase></testsuite>`],
    ['r.tap', `TAP version 13\n${many('ok 1 - a\n', 1)}`],
    ['r.tap', `TAP version 13\n${many('ok 1 - a\n    ok 1 - b\n', 1)}`],
    ['r.tap', `TAP version 13\nok 1 - ${many('# ', 1)}\n1..1`],
    ['r.json', many('{"Action":"run","Package":"a","Test":"b"}\n', 1)],
    ['r.json', `{"testResults":[${many('[],', 1)}1]}`],
    ['r.json', many('{"num', 1)],
    ['r.json', many('\n', 1)],
  ];
  for (const [name, text] of cases) {
    const { kind } = await readReport(Buffer.from(text), name);
    expect(['results', 'problem']).toContain(kind);
  }
  expect(process.cpuUsage(start).user / 1000).toBeLessThan(30_000);
});

test('damaged reports have results or one problem', async () => {
  await checkDamagedReports({ numRuns: 60 });
});
