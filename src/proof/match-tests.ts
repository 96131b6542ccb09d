import type { SourceLink } from './source-links.ts';
import type { TestResult } from './test-result.ts';

/**
 * The results of the tests that a link in a source file is about. Reports do not say on which line a test is: those whose
 * title fits best count, and of these, those of the same file if any report has files.
 */
export const resultsOf = (link: Pick<SourceLink, 'file' | 'test'>, results: readonly TestResult[]): TestResult[] => {
  const inFile = results.map((result) => ({ result, file: fileOf(result, link.file) }));
  const { test } = link;
  if (test === null) return inFile.filter(({ file }) => file === 'same').map(({ result }) => result);
  const rated = inFile
    .filter(({ file }) => file !== 'other')
    .map((each) => ({ ...each, rank: rank(test, each.result) }))
    .filter((each) => each.rank > 0);
  const isSame = rated.some(({ file }) => file === 'same');
  const fitting = rated.filter(({ file }) => !isSame || file === 'same');
  const best = Math.max(0, ...new Set(fitting.map((each) => each.rank)));
  return fitting.filter((each) => each.rank === best).map(({ result }) => result);
};

/** Whether a result is of a file, as far as the report tells. */
const fileOf = ({ file, names }: TestResult, wanted: string): 'same' | 'other' | 'unknown' => {
  if (file !== null) {
    const path = file.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '');
    return path === wanted || path.endsWith(`/${wanted}`) || wanted.endsWith(`/${path}`) ? 'same' : 'other';
  }
  // Runners of Python and Java name modules and classes instead: `tests.test_login.TestLogin`.
  const module = wanted.replace(/\.[^./]*$/, '').replaceAll('/', '.');
  const [first = ''] = names;
  const isModule = first === module || first.startsWith(`${module}.`) || module.endsWith(`.${first}`);
  return isModule ? 'same' : 'unknown';
};

/** How well a result fits a test in a source file; 0 if it does not. */
const rank = (
  { kind, title, isName }: Omit<NonNullable<SourceLink['test']>, 'inactive'>,
  { names, title: full }: TestResult,
): number => {
  if (isName) return names.some((name) => wordsOf(name).includes(title)) ? 3 : 0;
  const wanted = oneBlank(title);
  const shown = names.map(oneBlank);
  const others = kind === 'suite' ? shown.slice(0, -1) : shown.slice(-1);
  if (others.includes(wanted)) return 3;
  // A title may have ` > ` in it, which also separates names.
  const path = ` > ${oneBlank(full)}`;
  if (kind === 'test' ? path.endsWith(` > ${wanted}`) : path.includes(` > ${wanted} > `)) return 3;
  // Go has `_` for blanks, and the names of nested tests in one.
  const inGo = wanted.replaceAll(' ', '_');
  if (shown.some((name) => `/${name}/`.includes(`/${inGo}/`))) return 3;
  const parts = wanted.split(computed).filter((part) => part !== '');
  if (parts.length === 0) return 0;
  if (wanted.search(computed) !== -1 && others.some((name) => hasParts(name, wanted))) return 2;
  // Some reports have one name for a test and its suites, which may begin with that of the class.
  const last = shown.at(-1) ?? '';
  if (shown.slice(0, -1).some((name) => !last.startsWith(name))) return 0;
  if (kind === 'suite') return shown.some((name) => ` ${name} `.includes(` ${wanted} `)) && last !== wanted ? 1 : 0;
  return last.endsWith(` ${wanted}`) || last.endsWith(`> ${wanted}`) ? 1 : 0;
};

/** What a runner fills in: `%s` and `$name` of tables, `${…}` and `#{…}` of templates. */
const computed = /%[sdifjoOpc#$]|\$\{[^}]{0,200}\}|#\{[^}]{0,200}\}|\$[\w.]+/;

/** Whether a name has the parts of a template in their order, from its start to its end. */
const hasParts = (name: string, template: string): boolean => {
  const parts = template.split(computed);
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
