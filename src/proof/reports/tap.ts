import type { TestResult } from '../test-result.ts';
import { createResults, eachLine, isFileName, type Results } from './report.ts';
import { finishReport, type Group, hasTests, newReport, type Point, readLine, type TapReport } from './tap-lines.ts';

export const isTapVersion = (line: string): boolean => /^TAP version \d+\s*$/.test(line);
export const isTapPlan = (line: string): boolean => /^1\.\.\d+\s*(?:#.*)?$/s.test(line);
export const isTapTest = (line: string): boolean => /^(?:not )?ok(?:\s|$)/.test(line);

/**
 * Reads TAP of version 12 to 14, including several reports in one text and other lines between those of a report. A test
 * with tests below it is their suite. A report that does not have as many tests as it planned proves nothing.
 */
export const readTap = (text: string): TestResult[] => {
  const collected = createResults();
  let report = newReport();
  for (const line of eachLine(text)) {
    if (isTapVersion(line) && hasTests(report)) {
      addTests(report, collected);
      report = newReport();
    }
    readLine(report, line);
  }
  addTests(report, collected);
  return collected.results;
};

const addTests = (report: TapReport, collected: Results): void => {
  const { points, pending } = finishReport(report);
  const { groups, hasSubtests, hasSummary } = report;
  if (!hasSubtests && hasSummary && groups.length > 0) addGroups(points, groups, collected);
  else for (const each of [...points, ...pending]) addPoint(each, { names: [], directive: null }, collected);
};

interface Above {
  readonly names: readonly string[];
  readonly directive: Point['directive'];
}

const addPoint = (point: Point, above: Above, collected: Results): boolean => {
  const directive = above.directive ?? point.directive;
  const names = [...above.names, point.name];
  const hasFailed = point.children.reduce(
    (any, child) => addPoint(child, { names, directive }, collected) || any,
    false,
  );
  const status = directive ?? (point.isOk ? 'passed' : 'failed');
  // A suite may fail although its tests pass.
  if (point.children.length > 0 && (hasFailed || status !== 'failed')) return hasFailed;
  if (point.isSuite && status === 'passed') return false;
  collected.add({ ...placed(names, point.file), status, message: point.message, durationMs: point.durationMs });
  return status === 'failed';
};

/** The outermost name may be the file, and a name may have several in it. */
const placed = (names: readonly string[], file: string | null) => {
  const all = names.length === 1 && isFileName(names[0]!.split(' > ')[0]!) ? names[0]!.split(' > ') : names;
  return isFileName(all[0] ?? '') && all.length > 1 ? { names: all.slice(1), file: all[0]! } : { names: all, file };
};

/** Each comment is a test, and passes if all its assertions do. */
const addGroups = (points: readonly Point[], groups: readonly Group[], { add }: Results): void => {
  for (const { name, isOk, directive, message } of points.filter(({ group }) => group === null))
    add({ names: [name], status: directive ?? (isOk ? 'passed' : 'failed'), message });
  for (const { name, directive, points: own } of groups) {
    const failed = own.find((point) => !point.isOk && point.directive === null);
    const open = own.find((point) => point.directive !== null)?.directive ?? directive;
    if (own.length === 0 && directive === null) continue;
    const status = failed === undefined ? (open ?? 'passed') : 'failed';
    add({ names: [name], status, message: failed === undefined ? null : `${failed.name}\n${failed.message}` });
  }
};
