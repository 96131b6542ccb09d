import type { Scenario } from '../ralph/proof.ts';
import { createMatcher } from './match-tests.ts';
import { referencesIn } from './references.ts';
import type { SourceLink } from './source-links.ts';
import type { TestResult } from './test-result.ts';

/** A test that names a scenario. */
export interface LinkedTest {
  /** The title in the source or in the report; null for all tests of a file. */
  readonly title: string | null;
  /** Relative to the root, if the source names the scenario; otherwise as in the report. */
  readonly file: string | null;
  readonly line: number | null;
  /** What reports say about it; empty if it did not run. */
  readonly results: readonly TestResult[];
}

export interface Links {
  /** By the id of the scenario. Each scenario has an entry. */
  readonly tests: ReadonlyMap<string, readonly LinkedTest[]>;
  /** Ids that no scenario has, with the file and line, or the test, that names them. */
  readonly unknown: readonly { readonly id: string; readonly where: string }[];
}

export interface LinkRequest {
  readonly scenarios: readonly Pick<Scenario, 'id'>[];
  readonly sources: readonly SourceLink[];
  readonly results: readonly TestResult[];
  /** Ids of scenarios of other changes, which are not reported as unknown. */
  readonly elsewhere?: ReadonlySet<string>;
}

/** Finds the tests that name scenarios, in their sources or in their titles. */
export const linkScenarios = ({ scenarios, sources, results, elsewhere = new Set() }: LinkRequest): Links => {
  const known = new Map(scenarios.map(({ id }) => [fold(id), id]));
  const others = new Set([...elsewhere].map(fold));
  const tests = new Map(scenarios.map(({ id }): [string, LinkedTest[]] => [id, []]));
  const unknown = new Map<string, { readonly id: string; readonly where: string }>();
  const addUnknown = (id: string, where: string) => {
    if (!others.has(fold(id)) && !unknown.has(fold(id))) unknown.set(fold(id), { id, where });
  };
  const resultsOf = createMatcher(results);
  const covered = new Map<string, Set<TestResult>>();
  for (const { id: given, file, line, test } of sources) {
    const id = known.get(fold(given));
    if (id === undefined) {
      addUnknown(given, `${file}:${line}`);
      continue;
    }
    const found = resultsOf({ file, test });
    const inactive = test?.inactive ?? null;
    // jest-junit reports a test that is to do as one that passed.
    const shown = found.map((each) =>
      inactive === null || each.status !== 'passed' ? each : { ...each, status: inactive },
    );
    tests.get(id)!.push({ title: test?.title ?? null, file, line, results: shown });
    const seen = covered.get(id) ?? new Set();
    for (const result of found) seen.add(result);
    covered.set(id, seen);
  }
  // node:test reports a suite without tests as a test that passed.
  const suites = new Set(sources.flatMap(({ test }) => (test?.kind === 'suite' ? test.title : [])));
  for (const result of results) {
    if (result.status === 'passed' && suites.has(result.names.at(-1) ?? '')) continue;
    for (const given of new Set(referencesIn(result.title))) {
      const id = longestKnown(given, (each) => known.has(each) || others.has(each));
      const own = id === null ? undefined : known.get(id);
      if (id === null) addUnknown(given, result.title);
      if (own === undefined || covered.get(own)?.has(result)) continue;
      tests.get(own)!.push({ title: result.title, file: result.file, line: null, results: [result] });
    }
  }
  return { tests, unknown: [...unknown.values()] };
};

const fold = (id: string): string => id.normalize('NFC').toLowerCase();

/** In Go, the title of a test continues with `_`, `/` and `#` where others have blanks. */
const longestKnown = (given: string, isKnown: (id: string) => boolean): string | null => {
  for (
    let id = fold(given);
    id !== '';
    id = id.slice(0, Math.max(...['/', '_', '#'].map((cut) => id.lastIndexOf(cut)), 0))
  )
    if (isKnown(id)) return id;
  return null;
};
