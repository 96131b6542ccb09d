import type { SourceLink } from './source-links.ts';
import type { TestResult } from './test-result.ts';

/** A result with what is compared, which is computed once. */
interface Prepared {
  readonly result: TestResult;
  readonly names: readonly string[];
  /** ` > suite > test` */
  readonly path: string;
}

/** Results that a title is searched in. */
interface Scope {
  readonly all: readonly Prepared[];
  /** By the name of the test, by those of its suites, and by the words in both. */
  readonly tests: ReadonlyMap<string, readonly Prepared[]>;
  readonly suites: ReadonlyMap<string, readonly Prepared[]>;
  readonly words: ReadonlyMap<string, readonly Prepared[]>;
}

/** Comparisons, which take some seconds. After as many, only titles that are equal fit. */
const maxComparisons = 1_000_000;

/**
 * Returns a function that finds the results of the test that a source file names. Reports do not say on which line a test
 * is: those whose title fits best count, and of these, those of the same file if any report has files.
 */
export const createMatcher = (results: readonly TestResult[]) => {
  const byFile = grouped(results.map(prepare));
  const withoutFile = scopeOf(byFile.get(null) ?? []);
  const scopes = new Map<string, Scope>();
  let left = maxComparisons;
  const scopeOfFile = (file: string): Scope => {
    const known = scopes.get(file);
    if (known !== undefined) return known;
    left -= byFile.size + withoutFile.all.length;
    const named = [...byFile].flatMap(([name, all]) => (name !== null && isSameFile(name, file) ? all : []));
    const scope = scopeOf([...named, ...(left < 0 ? [] : withoutFile.all.filter((each) => isOfModule(each, file)))]);
    scopes.set(file, scope);
    return scope;
  };
  const search = (test: Test, scope: Scope): readonly Prepared[] => {
    const exact = equalIn(test, scope);
    if (exact.length > 0 || test.isName) return exact;
    left -= scope.all.length;
    return left < 0 ? [] : best(test, scope.all);
  };
  return ({ file, test }: Pick<SourceLink, 'file' | 'test'>): TestResult[] => {
    const scope = scopeOfFile(file);
    const inFile = test === null ? scope.all : search(test, scope);
    const found = inFile.length > 0 || test === null ? inFile : search(test, withoutFile);
    return found.map(({ result }) => result);
  };
};

const prepare = (result: TestResult): Prepared => ({
  result,
  names: result.names.map(oneBlank),
  path: ` > ${oneBlank(result.title)}`,
});

const grouped = (all: readonly Prepared[]): ReadonlyMap<string | null, readonly Prepared[]> => {
  const groups = new Map<string | null, Prepared[]>();
  for (const each of all) {
    if (!groups.has(each.result.file)) groups.set(each.result.file, []);
    groups.get(each.result.file)!.push(each);
  }
  return groups;
};

const scopeOf = (all: readonly Prepared[]): Scope => {
  const index = (keysOf: (each: Prepared) => readonly string[]) => {
    const found = new Map<string, Prepared[]>();
    for (const each of all)
      for (const key of new Set(keysOf(each))) {
        if (!found.has(key)) found.set(key, []);
        found.get(key)!.push(each);
      }
    return found;
  };
  return {
    all,
    tests: index(({ names }) => names.slice(-1)),
    suites: index(({ names }) => names.slice(0, -1)),
    words: index(({ result }) => result.names.flatMap(wordsOf)),
  };
};

const equalIn = ({ kind, title, isName }: Test, { tests, suites, words }: Scope): readonly Prepared[] => {
  if (isName) return words.get(title) ?? [];
  return (kind === 'suite' ? suites : tests).get(oneBlank(title)) ?? [];
};

const best = (test: Test, all: readonly Prepared[]): readonly Prepared[] => {
  let highest = 1;
  let found: Prepared[] = [];
  for (const each of all) {
    const rate = rank(test, each);
    if (rate > highest) [highest, found] = [rate, []];
    if (rate === highest) found.push(each);
  }
  return found;
};

const isSameFile = (name: string, wanted: string): boolean => {
  const path = name.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '');
  return path === wanted || path.endsWith(`/${wanted}`) || wanted.endsWith(`/${path}`);
};

/** Runners of Python and Java name modules and classes instead of files: `tests.test_login.TestLogin`. */
const isOfModule = ({ names: [first = ''] }: Prepared, file: string): boolean => {
  const module = file.replace(/\.[^./]*$/, '').replaceAll('/', '.');
  return first === module || first.startsWith(`${module}.`) || module.endsWith(`.${first}`);
};

type Test = NonNullable<SourceLink['test']>;

/** How well a result fits a test in a source file whose title it does not have; 0 if it does not. */
const rank = ({ kind, title }: Test, { names, path }: Prepared): number => {
  const wanted = oneBlank(title);
  const own = kind === 'suite' ? names.slice(0, -1) : names.slice(-1);
  // A title may have ` > ` in it, which also separates names.
  if (kind === 'test' ? path.endsWith(` > ${wanted}`) : path.includes(` > ${wanted} > `)) return 3;
  // Go has `_` for blanks, and the names of nested tests in one.
  const nested = `/${wanted.replaceAll(' ', '_')}/`;
  if (names.some((name, at) => `/${name}${kind === 'suite' && at === names.length - 1 ? '' : '/'}`.includes(nested)))
    return 3;
  if (computed.test(wanted)) return own.some((name) => hasParts(name, wanted)) ? 2 : 0;
  // Some reports have the names of all suites, or also that of the test, in one.
  const last = names.at(-1) ?? '';
  const isOne = names.slice(0, -1).every((name) => last.startsWith(name));
  if (kind === 'suite') return (isOne ? names : own).some((name) => hasWords(name, wanted)) && last !== wanted ? 1 : 0;
  return isOne && last.endsWith(` ${wanted}`) ? 1 : 0;
};

const hasWords = (name: string, wanted: string): boolean => ` ${name} `.includes(` ${wanted} `);

/** What a runner fills in: `%s` and `$name` of tables, `${…}` and `#{…}` of templates. */
const computed = /%[sdifjoOpc#$]|\$\{[^}]{0,200}\}|#\{[^}]{0,200}\}|\$[\w.]+/;

/** Whether a name has the parts of a template in their order, from its start to its end. */
const hasParts = (name: string, template: string): boolean => {
  const parts = template.split(computed);
  // One without any text fits every name.
  if (parts.every((part) => part.trim() === '')) return false;
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
};

const oneBlank = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** The names in one: `tests::login::works`, `TestLogin/works`, `test_login[1]`. */
const wordsOf = (name: string): string[] => name.split(/[^\p{L}\p{N}\p{M}_ ]+|\s{2,}/u);
