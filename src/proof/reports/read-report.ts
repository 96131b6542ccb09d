import { parseJson } from '../../text/shape.ts';
import type { TestResult } from '../test-result.ts';
import { decodeReport } from './decode.ts';
import { eachLine, type ReportFormat, ReportProblem } from './report.ts';

export type Report =
  | { readonly kind: 'results'; readonly format: ReportFormat; readonly results: readonly TestResult[] }
  /** One sentence. */
  | { readonly kind: 'problem'; readonly message: string }
  /** The text has nothing in it that looks like a report. */
  | { readonly kind: 'none' };

/** Bytes. A larger file is not read: check its size first. */
export const maxReport = 64 * 1024 * 1024;

/** JSON takes many times its size in memory, unlike the other formats, which are read bit by bit. */
const maxJson = 32 * 1024 * 1024;

/**
 * Reads the results in a report, or in the output of a command that prints one. Its content tells the format. `name` is
 * only for the problem, and tells whether it must be a report: the output of a command may be none.
 */
export const readReport = async (bytes: Buffer, name: string): Promise<Report> => {
  try {
    if (bytes.length > maxReport) throw new ReportProblem(`is larger than ${maxReport / 1024 / 1024} MB`);
    const found = await resultsIn(decodeReport(bytes));
    if (found !== null) return { kind: 'results', ...found };
    if (isJsonName.test(name) && parseJson(decodeReport(bytes)) === undefined)
      throw new ReportProblem('is not valid JSON: it may be incomplete');
    if (!/\.(?:xml|json|jsonl|ndjson|tap)$/i.test(name)) return { kind: 'none' };
    throw new ReportProblem('is not a report that Spool reads: JUnit XML, TAP, JSON of Vitest or Jest, or of go test');
  } catch (error) {
    if (error instanceof ReportProblem) return { kind: 'problem', message: `${name} ${error.message}.` };
    throw error;
  }
};

const isJsonName = /\.json$/i;

interface Found {
  readonly format: ReportFormat;
  readonly results: readonly TestResult[];
}

const resultsIn = async (text: string): Promise<Found | null> => {
  const start = /^\s*\S?/.exec(text.slice(0, 1000))![0].trim();
  if (start === '<') return { format: 'junit', results: (await import('./junit.ts')).readJunit(text) };
  const { isGoEvent, readGo } = await import('./go.ts');
  const { isTapPlan, isTapTest, isTapVersion, readTap } = await import('./tap.ts');
  const { isJest, readJest } = await import('./jest.ts');
  let isJson = start === '{' || start === '[';
  let hasPlan = false;
  let hasTest = false;
  for (const line of eachLine(text)) {
    if (line === '') continue;
    const begin = line.slice(0, 200);
    hasPlan ||= isTapPlan(begin);
    hasTest ||= isTapTest(begin);
    if (isTapVersion(begin) || (hasPlan && hasTest)) return { format: 'tap', results: readTap(text) };
    if (begin.startsWith('{"') && isGoEvent(line)) return { format: 'go', results: readGo(text) };
    // A runner that prints its report prints it in one line.
    if (begin.startsWith('{"num') && line.length <= maxJson) {
      const value = parseJson(line);
      if (isJest(value)) return { format: 'jest', results: readJest(value) };
    }
    if (isJson && line.trim() !== '') {
      isJson = false;
      const value = jsonIn(text);
      if (isJest(value)) return { format: 'jest', results: readJest(value) };
    }
  }
  return null;
};

const jsonIn = (text: string): unknown => {
  if (text.length > maxJson) throw new ReportProblem(`is larger than ${maxJson / 1024 / 1024} MB`);
  return parseJson(text);
};
