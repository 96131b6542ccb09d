import { withoutComments } from './comments.ts';
import { type TestLanguage, testLanguageOf } from './languages.ts';

/** What a test file checks, as far as patterns can tell. */
export interface TestProfile {
  /** The number of assertions of each test, by title. Tests with the same title are added up. */
  readonly tests: Readonly<Record<string, number>>;
  /** All assertions, including those outside of tests. */
  readonly assertions: number;
  /** How many marks keep tests from running: `skip`, `todo`, `only` and the like. */
  readonly skips: number;
  /** How many tests run once for each row of a table. */
  readonly tables: number;
}

/** Larger files are not tests that people write. */
const maxLength = 1_000_000;

/** Returns the profile of a file; null if it is not a test file, or has no tests. */
export const profileOf = (path: string, text: string): TestProfile | null => {
  const language = testLanguageOf(path);
  if (language === null || text.length > maxLength) return null;
  const code = withoutComments(text, language.comments);
  const starts = [...code.matchAll(language.test)];
  const count = (pattern: RegExp, part = code) => part.match(pattern)?.length ?? 0;
  if (starts.length === 0 && count(language.assertion) === 0) return null;
  const tests: Record<string, number> = Object.create(null) as Record<string, number>;
  for (const [index, start] of starts.entries()) {
    const title = titleOf(start, code, language);
    const body = code.slice(start.index, starts[index + 1]?.index);
    tests[title] = (tests[title] ?? 0) + count(language.assertion, body);
  }
  return {
    tests: { ...tests },
    assertions: count(language.assertion),
    skips: count(language.skip),
    tables: count(language.table),
  };
};

/** How far behind the start of a test its name can be. */
const maxDistance = 600;

const titleOf = (start: RegExpExecArray, code: string, { name }: TestLanguage): string => {
  const from = start.index + start[0].length;
  const found = name === undefined ? start : (name.exec(code.slice(from, from + maxDistance)) ?? []);
  return found.slice(1).findLast((group) => group !== undefined) ?? '';
};
