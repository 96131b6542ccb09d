import { isObject, parseJson } from '../../text/shape.ts';
import type { TestResult } from '../test-result.ts';
import { createResults, eachLine, extended, ReportProblem } from './report.ts';

/** Whether a line is an event of `go test -json`. */
export const isGoEvent = (line: string): boolean =>
  /^\{"(?:Time|Action|ImportPath)":/.test(line) && isObject(parseJson(line)) && line.includes('"Action":');

/** Reads the output of `go test -json`. Other lines, such as those of the compiler, may be between the events. */
export const readGo = (text: string): TestResult[] => {
  const { results, add } = createResults();
  const running = new Map<string, Running>();
  const packages = new Map<string, Package>();
  const packageOf = (name: string): Package => {
    if (packages.size > maxPackages) throw new ReportProblem(`has more than ${maxPackages} packages`);
    const known = packages.get(name) ?? { output: '', hasFailed: false, isDone: false };
    packages.set(name, known);
    return known;
  };
  for (const line of eachLine(text)) {
    const broken = /^FAIL\t(\S{1,1000})/.exec(line)?.[1];
    if (broken !== undefined && !packages.has(broken)) {
      packageOf(broken).isDone = true;
      add({ names: [broken], status: 'failed', message: line });
    }
    const event = line.startsWith('{') ? parseJson(line) : undefined;
    if (!isObject(event)) continue;
    const { Action: action, Package: name, Test: test, Output: output, Elapsed: elapsed } = event;
    if (typeof name !== 'string' || typeof action !== 'string') continue;
    const own = packageOf(name);
    if (typeof test !== 'string') {
      if (action === 'output' && typeof output === 'string') own.output = extended(own.output, output);
      const status = statuses[action];
      if (status === undefined) continue;
      own.isDone = true;
      if (status === 'failed' && !own.hasFailed) add({ names: [name], status, message: own.output });
      continue;
    }
    const key = `${name}\0${test}`;
    if (!running.has(key)) running.set(key, { name, test, output: '' });
    const now = running.get(key)!;
    if (action === 'output' && typeof output === 'string' && !isFrame.test(output))
      now.output = extended(now.output, output);
    const status = statuses[action];
    if (status === undefined) continue;
    running.delete(key);
    if (status === 'failed') own.hasFailed = true;
    const durationMs = typeof elapsed === 'number' ? elapsed * 1000 : null;
    add({ names: [name, test], status, message: status === 'passed' ? null : now.output, durationMs });
  }
  for (const { name, test } of running.values())
    add({ names: [name, test], status: 'failed', message: 'It did not finish.' });
  for (const [name, { isDone }] of packages)
    if (!isDone) add({ names: [name], status: 'failed', message: 'The package did not finish.' });
  return results;
};

interface Running {
  readonly name: string;
  readonly test: string;
  output: string;
}

interface Package {
  output: string;
  hasFailed: boolean;
  isDone: boolean;
}

const maxPackages = 10_000;

const statuses: Readonly<Record<string, TestResult['status'] | undefined>> = Object.assign(Object.create(null), {
  pass: 'passed',
  fail: 'failed',
  skip: 'skipped',
});

/** What Go prints around the output of a test. */
const isFrame = /^\s*(?:===|---) /;
