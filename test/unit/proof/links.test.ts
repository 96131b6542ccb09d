import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { linkScenarios } from '../../../src/proof/links.ts';
import { createMatcher } from '../../../src/proof/match-tests.ts';
import { referencesIn } from '../../../src/proof/references.ts';
import { readSourceLinks } from '../../../src/proof/source-files.ts';
import { linksInSource } from '../../../src/proof/source-links.ts';
import type { TestResult } from '../../../src/proof/test-result.ts';

/** A tag, so that this file itself has none. */
const tag = `@${'scenario'}`;

describe('the ids that a text names', () => {
  test.each([
    [`logs in ${tag} auth/login/works`, ['auth/login/works']],
    [`logs in (${tag} auth/login/works).`, ['auth/login/works']],
    [`${tag}: auth/login, then ${tag} dark-mode/1.2.`, ['auth/login', 'dark-mode/1.2']],
    [`TestLogin/works_${tag}_auth/login/works`, ['auth/login/works']],
    [`// ${tag} "invoices:orders/parsed"`, ['invoices:orders/parsed']],
    [`${tag} ログイン/成功`, ['ログイン/成功']],
    ['auth/login/works', []],
    [`${tag}`, []],
    [`${tag}(auth/login)`, []],
    [`${tag}s auth/login`, []],
    [`mail${tag} auth/login`, []],
    [`${tag} - auth`, []],
  ])('%j', (text, ids) => {
    expect(referencesIn(text)).toEqual(ids);
  });
});

describe('tags in a source file', () => {
  const titles = (file: string, text: string) =>
    linksInSource(file, text.replaceAll('TAG', tag)).map(({ id, line, test: found }) => [
      id,
      line,
      found === null ? null : `${found.kind} ${found.title}`,
    ]);

  test('of JavaScript: titles, comments above, behind and inside of tests, suites, tables', () => {
    const text = `import x from 'y';
// TAG a/1
// TAG a/2
it('one', () => {});
it("two's TAG a/3", () => {});
test.each([
  ['x', () => it],
])('three %s TAG a/4', () => {});
/** TAG a/5 */
describe('suite', () => {
  test(
    'four',
    async () => {
      // TAG a/6
      expect(1);
    },
  );
  it.skip(\`five \${x}\`, () => {}); // TAG a/7
  // it('commented out', () => {});
});
const text = 'TAG a/8';
if (/x/.test('TAG a/9')) x();
await t.test('six: TAG a/10', () => {});
// TAG a/11
`;
    expect(titles('a.test.ts', text)).toEqual([
      ['a/1', 2, 'test one'],
      ['a/2', 3, 'test one'],
      ['a/3', 5, "test two's @scenario a/3"],
      ['a/4', 8, 'test three %s @scenario a/4'],
      ['a/5', 9, 'suite suite'],
      ['a/6', 14, 'test four'],
      ['a/7', 18, 'test five ${x}'],
      ['a/10', 23, 'test six: @scenario a/10'],
      ['a/11', 24, null],
    ]);
  });

  test.each([
    ['test_a.py', '# TAG a/1\n@pytest.mark.slow\ndef test_one():\n    pass\n', [['a/1', 1, 'test test_one']]],
    [
      'test_a.py',
      'class TestA:\n    def test_one(self):\n        """One.\n\n        TAG a/1\n        """\n\n    async def test_two(self):\n        pass\n',
      [['a/1', 5, 'test test_one']],
    ],
    [
      'a_test.go',
      '// TAG a/1\nfunc TestOne(t *testing.T) {\n\t// TAG a/2\n\tt.Run("two words", func(t *testing.T) {})\n\tt.Run("x TAG a/3", nil)\n}\n',
      [
        ['a/1', 1, 'test TestOne'],
        ['a/2', 3, 'test two words'],
        ['a/3', 5, 'test x @scenario a/3'],
      ],
    ],
    [
      'lib.rs',
      'fn helper() {}\n/// TAG a/1\n#[test]\nfn works() {}\nfn other() {}\n// TAG a/2\nfn last() {}\n',
      [
        ['a/1', 2, 'test works'],
        ['a/2', 6, null],
      ],
    ],
    ['ATest.java', 'class ATest {\n  // TAG a/1\n  @Test\n  void works() {}\n}\n', [['a/1', 2, 'test works']]],
    ['ATest.kt', '// TAG a/1\n@Test\nfun `works well`() {}\n', [['a/1', 1, 'test works well']]],
    ['a_spec.rb', "describe 'A' do\n  it 'works TAG a/1' do\n  end\nend\n", [['a/1', 2, 'test works @scenario a/1']]],
    ['a.bats', '@test "works TAG a/1" {\n}\n', [['a/1', 1, 'test works @scenario a/1']]],
    ['a.test.js', "// TAG a/1\r\nit('one', () => {});\r\n", [['a/1', 1, 'test one']]],
  ])('of %s', (file, text, expected) => {
    expect(titles(file, text)).toEqual(expected);
  });
});

const result = (names: readonly string[], more: Partial<TestResult> = {}): TestResult => ({
  names,
  title: names.join(' > '),
  file: null,
  status: 'passed',
  message: null,
  durationMs: null,
  ...more,
});

describe('the results of a test in a source file', () => {
  const all = [
    result(['math', 'adds'], { file: 'test/math.test.ts' }),
    result(['math', 'adds two'], { file: 'test/math.test.ts' }),
    result(['adds'], { file: '/home/x/test/other.test.ts' }),
    result(['each', 'is 1 of 2']),
    result(['math: nested divides']),
    result(['jest suite joins', 'jest suite joins']),
    result(['mocha with more', 'runs > a']),
    result(['tests.test_login.TestLogin', 'test_works[1-2]']),
    result(['example.com/a', 'TestOne/two_words']),
    result(['a::tests::works']),
  ];
  const found = (title: string | null, { file = 'x', kind = 'test' as 'test' | 'suite', isName = false } = {}) =>
    createMatcher(all)({ file, test: title === null ? null : { kind, title, isName, inactive: null } }).map(
      ({ title: full }) => full,
    );

  test.each([
    ['adds', { file: 'test/math.test.ts' }, ['math > adds']],
    ['adds', { file: 'test/other.test.ts' }, ['adds']],
    ['adds', { file: 'other/file.ts' }, []],
    ['two', { file: 'test/math.test.ts' }, []],
    ['math', { file: 'test/math.test.ts', kind: 'suite' as const }, ['math > adds', 'math > adds two']],
    [null, { file: 'test/math.test.ts' }, ['math > adds', 'math > adds two']],
    [null, { file: 'other/file.ts' }, []],
    ['is %i of $b', {}, ['each > is 1 of 2']],
    ['is ${a} of 3', {}, []],
    ['${a}', {}, []],
    ['divides', {}, ['math: nested divides']],
    ['with more', { kind: 'suite' as const }, ['mocha with more > runs > a']],
    ['runs > a', {}, ['mocha with more > runs > a']],
    ['joins', {}, ['jest suite joins > jest suite joins']],
    ['suite', { kind: 'suite' as const }, ['jest suite joins > jest suite joins']],
    // A suite without tests, which node:test reports like a test.
    ['adds', { file: 'test/other.test.ts', kind: 'suite' as const }, []],
    ['test_works', { isName: true, file: 'tests/test_login.py' }, ['tests.test_login.TestLogin > test_works[1-2]']],
    ['test_work', { isName: true }, []],
    [null, { file: 'tests/test_login.py' }, ['tests.test_login.TestLogin > test_works[1-2]']],
    ['two words', {}, ['example.com/a > TestOne/two_words']],
    ['TestOne', { isName: true }, ['example.com/a > TestOne/two_words']],
    ['works', { isName: true }, ['a::tests::works']],
  ])('%j %j', (title, where, expected) => {
    expect(found(title, where)).toEqual(expected);
  });
});

test('links by title and by source, unknown ids and those of other changes', () => {
  const one = result(['suite', `works ${tag} A/b/c`], { file: 'a.test.ts' });
  const two = result([`TestX/y_${tag}_a/b/d_and_more/sub#01`], { status: 'failed' });
  const links = linkScenarios({
    scenarios: [{ id: 'a/b/c' }, { id: 'a/b/d' }, { id: 'a/b/e' }],
    sources: [
      {
        id: 'a/b/C',
        file: 'a.test.ts',
        line: 3,
        test: { kind: 'test', title: `works ${tag} A/b/c`, isName: false, inactive: null },
      },
      {
        id: 'a/b/e',
        file: 'a.test.ts',
        line: 8,
        test: { kind: 'test', title: 'open', isName: false, inactive: 'todo' },
      },
      { id: 'a/b/e', file: 'b.test.ts', line: 1, test: { kind: 'test', title: 'gone', isName: false, inactive: null } },
      { id: 'a/b', file: 'b.test.ts', line: 2, test: null },
      { id: 'a/b', file: 'b.test.ts', line: 9, test: null },
      { id: 'other/x', file: 'b.test.ts', line: 4, test: null },
    ],
    results: [one, two, result([`x ${tag} nope`]), result(['a/b/e']), result(['open'])],
    elsewhere: new Set(['other/X']),
  });
  expect([...links.tests]).toEqual([
    ['a/b/c', [{ title: `works ${tag} A/b/c`, file: 'a.test.ts', line: 3, results: [one] }]],
    ['a/b/d', [{ title: two.title, file: null, line: null, results: [two] }]],
    [
      'a/b/e',
      [
        { title: 'open', file: 'a.test.ts', line: 8, results: [result(['open'], { status: 'todo' })] },
        { title: 'gone', file: 'b.test.ts', line: 1, results: [] },
      ],
    ],
  ]);
  expect(links.unknown).toEqual([
    { id: 'a/b', where: 'b.test.ts:2' },
    { id: 'nope', where: `x ${tag} nope` },
  ]);
});

test('a suite without tests proves nothing, and one that failed is not passed', () => {
  const title = `adds ${tag} a/b/c`;
  const linked = (status: TestResult['status']) =>
    linkScenarios({
      scenarios: [{ id: 'a/b/c' }],
      sources: [{ id: 'a/b/c', file: 'a.js', line: 1, test: { kind: 'suite', title, isName: false, inactive: null } }],
      results: [result([title], { status })],
    })
      .tests.get('a/b/c')!
      .flatMap(({ results }) => results);
  expect(linked('passed')).toEqual([]);
  expect(linked('failed')).toHaveLength(1);
});

test('many tags and many results take bounded time', () => {
  const results = Array.from({ length: 20_000 }, (_, at) => result(['suite', `test ${at}`]));
  const sources = (title: string) =>
    Array.from({ length: 2000 }, (_, at) => ({
      id: 'a',
      file: 'a.js',
      line: at,
      test: { kind: 'test' as const, title: `${title} ${at}`, isName: false, inactive: null },
    }));
  const counts = (title: string) =>
    linkScenarios({ scenarios: [{ id: 'a' }], sources: sources(title), results })
      .tests.get('a')!
      .map((each) => each.results.length);
  const start = process.cpuUsage();
  expect(new Set(counts('test'))).toEqual(new Set([1]));
  expect(new Set(counts('other'))).toEqual(new Set([0]));
  expect(process.cpuUsage(start).user / 1000).toBeLessThan(30_000);
});

describe('source files', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'spool-links-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  test('of a work tree, and of a folder without git', async () => {
    const files: Record<string, string> = {
      'test/a.test.js': `it('${tag} a/1', () => {});\n`,
      'test/new.test.js': `it('${tag} a/2', () => {});\n`,
      'ignored/b.test.js': `it('${tag} a/3', () => {});\n`,
      'node_modules/x/b.test.js': `it('${tag} a/4', () => {});\n`,
      'docs/a.md': `${tag} a/5\n`,
      'binary.js': `\0 // ${tag} a/6\n`,
      'large.js': `// ${tag} a/7\n${' '.repeat(1024 * 1024)}`,
      'deleted.js': `// ${tag} a/8\n`,
      'ü ñ.js': `// ${tag} a/9\n`,
      '.gitignore': 'ignored\n',
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    symlinkSync('/etc/passwd', join(root, 'link.js'));
    const found = async () => (await readSourceLinks(root)).links.map(({ id, file }) => `${file} ${id}`);
    expect((await found()).length).toBe(5);
    const git = (...args: string[]) => execFileSync('git', args, { cwd: root });
    git('init', '-q');
    git('add', 'test/a.test.js', 'deleted.js', '.gitignore');
    rmSync(join(root, 'deleted.js'));
    expect(await found()).toEqual(['test/a.test.js a/1', 'test/new.test.js a/2', 'ü ñ.js a/9']);
    expect((await readSourceLinks(root)).problem).toBeNull();
  });
});
