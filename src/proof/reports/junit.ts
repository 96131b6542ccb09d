import { SaxesParser } from 'saxes';
import type { TestResult } from '../test-result.ts';
import { createResults, deepest, extended, isFileName, ReportProblem, shortened } from './report.ts';

/** Reads a JUnit report, as a stream of tags. Entities are not expanded, and nothing else is loaded. */
export const readJunit = (text: string): TestResult[] => {
  const { results, add } = createResults();
  const parser = new SaxesParser();
  const suites: string[] = [];
  let depth = 0;
  let attributes = 0;
  let errors = 0;
  let current: Case | null = null;
  let outcome: Outcome | null = null;
  const take = (part: string) => {
    if (outcome !== null) outcome.text = extended(outcome.text, part);
  };
  parser.on('error', (error) => {
    // Runners write control characters, as such or as numbers.
    if (!isAboutCharacter.test(error.message) || ++errors > mostErrors) throw new ReportProblem(problemOf(error));
  });
  parser.on('doctype', () => {
    throw new ReportProblem('has a DOCTYPE, which no test runner writes');
  });
  parser.on('opentagstart', () => {
    attributes = 0;
    if (++depth > deepest) throw new ReportProblem(`is nested more than ${deepest} levels deep`);
  });
  parser.on('attribute', () => {
    if (++attributes > mostAttributes) throw new ReportProblem('has a tag with too many attributes');
  });
  parser.on('opentag', ({ name, attributes: given }) => {
    const valueOf = (key: string) => (given[key] ?? '') as string;
    if (depth === 1 && name !== 'testsuites' && name !== 'testsuite')
      throw new ReportProblem(`is XML, but not a JUnit report: it begins with <${shortened(name, 40)}>`);
    if (name === 'testsuite') suites.push(unquoted(valueOf('name')));
    else if (name === 'testcase' && current === null) {
      const [own, className, file, time] = ['name', 'classname', 'file', 'time'].map(valueOf);
      // Mocha says that a test has no suite.
      const around = given.classname === '' ? [] : suites;
      const names = namesOf(unquoted(own!), unquoted(className!), around);
      current = { ...names, file: file || names.file, status: 'passed', message: null, seconds: time!, depth };
      // Other runners than those of Java.
      const status = valueOf('status') || valueOf('result');
      if (/^(?:skipped|notrun|disabled|ignored)$/i.test(status)) current.status = 'skipped';
      if (/^(?:fail|failed|failure|error|errored)$/i.test(status)) current.status = 'failed';
    } else if (current !== null && depth === current.depth + 1) {
      const status = statusOf(name, valueOf('type'));
      if (status !== null) outcome = { status, message: unquoted(valueOf('message')), text: '' };
    }
  });
  parser.on('text', take);
  parser.on('cdata', take);
  parser.on('closetag', ({ name }) => {
    depth--;
    if (name === 'testsuite') suites.pop();
    if (current === null) return;
    if (outcome !== null && depth === current.depth) {
      // A test that is skipped or to do may fail as well.
      if (current.status === 'passed' || (current.status === 'failed' && outcome.status !== 'failed'))
        Object.assign(current, { status: outcome.status, message: outcome.message || outcome.text });
      outcome = null;
    }
    if (depth !== current.depth - 1) return;
    const { names, file, status, message, seconds } = current;
    add({ names, file, status, message, durationMs: seconds === '' ? null : Number(seconds) * 1000 });
    current = null;
  });
  for (let at = 0; at < text.length; at += chunk) parser.write(withoutControls(text.slice(at, at + chunk)));
  parser.close();
  return results;
};

const chunk = 64 * 1024;
const mostAttributes = 1000;
const mostErrors = 1000;

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
