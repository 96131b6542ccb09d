/** How the tests of a language look. All patterns are global, except `name`. */
export interface TestLanguage {
  /** The start of a test. The last group that matches is its title. */
  readonly test: RegExp;
  /** Finds the title soon after the start, if the start does not have it. */
  readonly name?: RegExp;
  readonly assertion: RegExp;
  /** What keeps a test, or all others, from running. */
  readonly skip: RegExp;
  /** A test that runs once for each row of a table. */
  readonly table: RegExp;
  readonly comments: '//' | '#';
}

/** Returns the language of a test file; null for any other file. */
export const testLanguageOf = (path: string): TestLanguage | null => {
  if (/(?:^|\/)(?:\.spool|node_modules|vendor|target|\.git)\//.test(path)) return null;
  const ending = /\.(\w+)$/.exec(path)?.[1] ?? '';
  const language = languages[ending];
  if (language === undefined) return null;
  // Rust has its tests next to the code.
  return ending === 'rs' || ending === 'bats' || testFile.test(path) ? language : null;
};

/** Whether a file belongs to the tests: a test, or a file that tests use. Rust files outside of `tests/` are code. */
export const isTestSide = (path: string): boolean =>
  !path.startsWith('.spool/') && (testFolder.test(path) || (testFile.test(path) && !path.endsWith('.rs')));

const testFolder =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e|testing|testdata|fixtures|__snapshots__|__mocks__|__fixtures__)\/|(?:^|\/)conftest\.py$/;

/** The names of test files and of folders with tests. */
const testFile =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e|testing)\/|(?:[._-](?:test|spec)s?|(?:Test|Tests|IT|Spec))\.\w+$|(?:^|\/)test_[^/]{0,200}\.py$|(?:^|\/)tests?\.\w+$/;

const script: TestLanguage = {
  test: /(?<![\w.$])(?:it|test|specify|fit|xit|xtest|xspecify|Deno\.test)(?:\.\w{1,40}){0,4}\s{0,4}(?:\([^()'"`]{0,200}\)\s?)?\(\s{0,40}(?:'((?:[^'\\\n]|\\.){0,400})'|"((?:[^"\\\n]|\\.){0,400})"|`((?:[^`\\]|\\.){0,400})`)/g,
  assertion:
    /(?<![\w$])(?:expect|expectTypeOf|assertType|assert|should|ok|strictEqual|deepEqual|deepStrictEqual|notEqual|rejects|throws|doesNotThrow)(?:\.\w{1,40}){0,4}\s{0,4}[(<]|\.should\b|(?<![\w$.])t\.(?:is|not|like|true|false|truthy|falsy|deepEqual|notDeepEqual|throws|throwsAsync|notThrows|notThrowsAsync|regex|notRegex|snapshot|assert|equal|notEqual|same|notSame|ok|notOk|match|pass|fail|rejects|strictSame)\s{0,4}\(/g,
  skip: /(?<![\w$])(?:it|test|describe|suite|specify|context|bench)(?:\.\w{1,40}){0,4}\.(?:skip|skipIf|runIf|todo|only|fails|failing|fixme)\b|(?<![\w$.])(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe)\s{0,4}\(|(?<![\w$])(?:this|t|context|ctx)\.(?:skip|todo)\s{0,4}\(|\b(?:skip|todo|only)\s{0,4}:\s{0,4}true\b|\bskip\s{0,4}:\s{0,4}(?:['"`!]|process\b)/g,
  table:
    /(?<![\w$])(?:it|test|describe)(?:\.\w{1,40}){0,4}\.(?:each|for)\b|\bfor\s{0,4}\((?:const|let|var)\s[^()\n]{0,100}\sof\s|\.forEach\(/g,
  comments: '//',
};

const python: TestLanguage = {
  test: /^[ \t]{0,80}(?:async[ \t]{1,8})?def[ \t]{1,8}(test\w{0,200})/gm,
  assertion:
    /(?<![\w.])assert\b|\bself\.(?:assert\w{1,40}|fail)\s{0,4}\(|\bpytest\.(?:raises|warns|fail)\s{0,4}\(|\.assert_\w{1,40}\s{0,4}\(/g,
  skip: /@(?:pytest\.mark|mark)\.(?:skip|skipif|xfail)\b|@(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure)\b|\bpytest\.(?:skip|xfail|importorskip)\s{0,4}\(|\bself\.skipTest\s{0,4}\(|\bpytestmark\s{0,4}=|\bcollect_ignore\b/g,
  table: /@pytest\.mark\.parametrize\b|\bsubTest\s{0,4}\(/g,
  comments: '#',
};

const go: TestLanguage = {
  test: /^func[ \t]{1,8}((?:Test|Fuzz|Example)\w{0,200})\s{0,4}\(|\b\w{1,40}\.Run\(\s{0,40}"((?:[^"\\\n]|\\.){0,400})"/gm,
  assertion:
    /\b\w\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\s{0,4}\(|\b(?:assert|require|is|qt|check)\.\w{1,40}\s{0,4}\(/g,
  skip: /\b\w\.(?:Skip|Skipf|SkipNow)\s{0,4}\(/gm,
  table: /\brange\b/g,
  comments: '//',
};

const rust: TestLanguage = {
  test: /#\[(?:\w{1,40}::){0,4}(?:test|rstest|test_case|property)\b/g,
  name: /\bfn\s{1,4}(\w{1,200})/,
  assertion: /\b(?:debug_|prop_)?assert\w{0,40}!|\bpanic!|#\[should_panic\b/g,
  skip: /#\[ignore\b|#\[cfg_attr\([^\]\n]{0,200},\s?ignore\b|#\[cfg\(any\(\)\)\]/g,
  table: /#\[(?:case|test_case)\b|\bfor\s[^\n{]{1,80}\sin\s/g,
  comments: '//',
};

const java: TestLanguage = {
  test: /@(?:\w{1,40}\.){0,6}(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b/g,
  name: /(?<![@.\w])(?:`([^`\n]{1,200})`|(\w{1,200}))\s{0,4}\(/,
  assertion:
    /(?<![\w$])(?:assert|verify|fail|expect|check)\w{0,40}\s{0,4}\(|\.(?:isEqualTo|isTrue|isFalse|isNull|isNotNull|contains|hasSize|hasMessage)\w{0,40}\s{0,4}\(|\bshould[A-Z]\w{0,40}/g,
  skip: /@(?:\w{1,40}\.){0,6}(?:Disabled|Ignore|EnabledIf|EnabledOn)\w{0,40}|(?<![\w$])(?:assume\w{0,40}|Assumptions\.\w{1,40}|Assume\.\w{1,40})\s{0,4}\(|\benabled\s{0,4}=\s{0,4}false/g,
  table: /@(?:\w{1,40}\.){0,6}(?:ParameterizedTest|MethodSource|CsvSource|ValueSource)\b/g,
  comments: '//',
};

const ruby: TestLanguage = {
  test: /^[ \t]{0,80}(?:it|specify|test|example|xit|fit)[ \t(]{1,8}(?:'((?:[^'\\\n]|\\.){0,400})'|"((?:[^"\\\n]|\\.){0,400})")|^[ \t]{0,80}def[ \t]{1,8}(test_\w{1,200}[?!]?)/gm,
  assertion:
    /(?<![\w.])(?:expect|assert\w{0,40}|refute\w{0,40}|flunk)\b|\.should(?:_not)?\b|\.(?:must|wont)_\w{1,40}|\bis_expected\b/g,
  skip: /^[ \t]{0,80}(?:skip|pending|xit|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext|focus)\b|\b(?:skip|pending|focus):[ \t]{0,8}(?!false\b|nil\b)|,[ \t]{0,8}:(?:skip|pending|focus)\b/gm,
  table: /\.each\b|\.times\b/g,
  comments: '#',
};

const bats: TestLanguage = {
  test: /^[ \t]{0,80}@test[ \t]{1,8}(?:'((?:[^'\\\n]|\\.){0,400})'|"((?:[^"\\\n]|\\.){0,400})")/gm,
  assertion:
    /^[ \t]{0,80}(?:\[\[?[ \t]|test[ \t]|assert\w{0,40}|refute\w{0,40}|grep[ \t]|diff[ \t]|cmp[ \t]|false\b|fail\b|run[ \t]{1,8}!|![ \t])/gm,
  skip: /^[ \t]{0,80}skip\b/gm,
  table: /^[ \t]{0,80}for[ \t]/gm,
  comments: '#',
};

const languages: Readonly<Record<string, TestLanguage>> = {
  js: script,
  jsx: script,
  cjs: script,
  mjs: script,
  ts: script,
  tsx: script,
  cts: script,
  mts: script,
  vue: script,
  svelte: script,
  py: python,
  go,
  rs: rust,
  java,
  kt: java,
  kts: java,
  scala: java,
  groovy: java,
  rb: ruby,
  bats,
};
