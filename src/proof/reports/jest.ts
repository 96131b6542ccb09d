import { isObject } from '../../text/shape.ts';
import type { TestResult } from '../test-result.ts';
import { createResults, ReportProblem } from './report.ts';

/** Whether a value is a report of Jest, which Vitest writes in the same form. */
export const isJest = (value: unknown): value is { readonly testResults: readonly unknown[] } =>
  isObject(value) && Array.isArray(value.testResults);

export const readJest = ({ testResults }: { readonly testResults: readonly unknown[] }): TestResult[] => {
  const { results, add } = createResults();
  for (const each of testResults) {
    if (!isObject(each)) throw new ReportProblem('is a report of Jest with an entry that is not an object');
    const file = textOf(each.name) ?? null;
    const tests = Array.isArray(each.assertionResults) ? each.assertionResults : [];
    for (const test of tests) {
      if (!isObject(test)) throw new ReportProblem('is a report of Jest with a test that is not an object');
      const above = Array.isArray(test.ancestorTitles) ? test.ancestorTitles.flatMap((name) => textOf(name) ?? []) : [];
      const messages = Array.isArray(test.failureMessages) ? test.failureMessages : [];
      add({
        names: [...above.slice(0, maxNames), textOf(test.title) ?? textOf(test.fullName) ?? ''],
        file,
        status: statuses.get(test.status) ?? 'failed',
        message: textOf(messages[0]) ?? null,
        durationMs: typeof test.duration === 'number' ? test.duration : null,
      });
    }
    // A file that cannot be loaded has no tests.
    if (each.status === 'failed' && !tests.some((test) => isObject(test) && test.status === 'failed'))
      add({ names: [file ?? 'a file'], file, status: 'failed', message: textOf(each.message) ?? null });
  }
  return results;
};

const maxNames = 100;

const statuses: ReadonlyMap<unknown, TestResult['status']> = new Map([
  ['passed', 'passed'],
  ['skipped', 'skipped'],
  ['pending', 'skipped'],
  ['disabled', 'skipped'],
  ['todo', 'todo'],
]);

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
