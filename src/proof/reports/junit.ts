import { SaxesParser, type SaxesTag } from 'saxes';
import type { TestResult } from '../test-result.ts';
import { createResults, extended, isFileName, maxDepth, ReportProblem, shortened } from './report.ts';

/** Reads a JUnit report, as a stream of tags. Entities are not expanded, and nothing else is loaded. */
export const readJunit = (text: string): TestResult[] => {
  const { results, add } = createResults();
  const parser = new SaxesParser();
  const report: JunitReport = { suites: [], depth: 0, current: null, outcome: null };
  refuseHostile(parser, report);
  parser.on('opentag', (tag) => openTag(report, tag));
  parser.on('text', (part) => addText(report, part));
  parser.on('cdata', (part) => addText(report, part));
  parser.on('closetag', ({ name }) => {
    const ended = closeTag(report, name);
    if (ended === null) return;
    const { names, file, status, message, seconds } = ended;
    add({ names, file, status, message, durationMs: seconds === '' ? null : Number(seconds) * 1000 });
  });
  for (let at = 0; at < text.length; at += chunk) parser.write(withoutControls(text.slice(at, at + chunk)));
  parser.close();
  return results;
};

/** One report while it is read. */
interface JunitReport {
  /** The names of the suites around the current tag. */
  readonly suites: string[];
  /** How many tags are open. */
  depth: number;
  current: Case | null;
  outcome: Outcome | null;
}

/** Throws on what is no report of a test runner, or too much of it. */
const refuseHostile = (parser: SaxesParser, report: Readonly<JunitReport>): void => {
  let attributes = 0;
  let errors = 0;
  parser.on('error', (error) => {
    // Runners write control characters, as such or as numbers.
    if (!isAboutCharacter.test(error.message) || ++errors > maxErrors) throw new ReportProblem(problemOf(error));
  });
  parser.on('doctype', () => {
    throw new ReportProblem('has a DOCTYPE, which no test runner writes');
  });
  parser.on('opentagstart', () => {
    attributes = 0;
    if (report.depth >= maxDepth) throw new ReportProblem(`is nested more than ${maxDepth} levels deep`);
  });
  parser.on('attribute', () => {
    if (++attributes > maxAttributes) throw new ReportProblem('has a tag with too many attributes');
  });
};

const openTag = (report: JunitReport, { name, attributes }: SaxesTag): void => {
  const valueOf = (key: string) => (attributes[key] ?? '') as string;
  report.depth++;
  const { depth, suites, current } = report;
  if (depth === 1 && name !== 'testsuites' && name !== 'testsuite')
    throw new ReportProblem(`is XML, but not a JUnit report: it begins with <${shortened(name, 40)}>`);
  if (name === 'testsuite') suites.push(unquoted(valueOf('name')));
  else if (name === 'testcase' && current === null) {
    // Mocha says that a test has no suite.
    report.current = newCase(valueOf, { suites: attributes.classname === '' ? [] : suites, depth });
  } else if (current !== null && depth === current.depth + 1) {
    const status = statusOf(name, valueOf('type'));
    if (status !== null) report.outcome = { status, message: unquoted(valueOf('message')), text: '' };
  }
};

const newCase = (
  valueOf: (attribute: string) => string,
  { suites, depth }: Pick<JunitReport, 'suites' | 'depth'>,
): Case => {
  const names = namesOf(unquoted(valueOf('name')), unquoted(valueOf('classname')), suites);
  // Other runners than those of Java.
  const status = valueOf('status') || valueOf('result');
  return {
    ...names,
    file: valueOf('file') || names.file,
    status: /^(?:skipped|notrun|disabled|ignored)$/i.test(status)
      ? 'skipped'
      : /^(?:fail|failed|failure|error|errored)$/i.test(status)
        ? 'failed'
        : 'passed',
    message: null,
    seconds: valueOf('time'),
    depth,
  };
};

const addText = ({ outcome }: JunitReport, part: string): void => {
  if (outcome !== null) outcome.text = extended(outcome.text, part);
};

/** Returns the test that ends with this tag; null for any other tag. */
const closeTag = (report: JunitReport, name: string): Case | null => {
  report.depth--;
  const { depth, suites, current, outcome } = report;
  if (name === 'testsuite') suites.pop();
  if (current === null) return null;
  if (outcome !== null && depth === current.depth) {
    // A test that is skipped or to do may fail as well.
    if (current.status === 'passed' || (current.status === 'failed' && outcome.status !== 'failed'))
      Object.assign(current, { status: outcome.status, message: outcome.message || outcome.text });
    report.outcome = null;
  }
  if (depth !== current.depth - 1) return null;
  report.current = null;
  return current;
};

const chunk = 64 * 1024;
const maxAttributes = 1000;
const maxErrors = 1000;

interface Case {
  readonly names: readonly string[];
  readonly file: string | null;
  status: TestResult['status'];
  message: string | null;
  readonly seconds: string;
  readonly depth: number;
}

interface Outcome {
  readonly status: TestResult['status'];
  readonly message: string;
  text: string;
}

const isAboutCharacter = /disallowed character\.$|malformed character entity/;

/** Characters that XML must not contain. */
const withoutControls = (text: string): string =>
  text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');

const problemOf = ({ message }: Error): string => {
  const [, line, what] = /^(\d+):\d+: (.*)$/s.exec(message) ?? [null, null, message];
  return `is not a complete XML file (${line === null ? '' : `line ${line}: `}${shortened(what!, 100).replace(/\.$/, '')})`;
};

/** node:test escapes quotes twice. */
const unquoted = (text: string): string => text.replaceAll('&quot;', '"');

const statusOf = (tag: string, type: string): TestResult['status'] | null => {
  if (tag === 'failure' || tag === 'error') return 'failed';
  if (tag === 'skipped' || tag === 'disabled') return /todo/i.test(type) ? 'todo' : 'skipped';
  return null;
};

/**
 * Runners put the names of suites, of classes, of files, or all titles in one into the name of the class.
 */
const namesOf = (
  name: string,
  className: string,
  suites: readonly string[],
): { readonly names: readonly string[]; readonly file: string | null } => {
  // Vitest: the class is the file, and the name has all titles.
  if (isFileName(className)) return { names: className === name ? [name] : name.split(' > '), file: className };
  // node:test: suites in suites.
  if (className === '' || className === 'test') return { names: [...suites, name], file: null };
  return { names: className.trim() === name.trim() ? [name] : [className, name], file: null };
};
