import type { TestResult } from '../test-result.ts';

export type ReportFormat = 'junit' | 'tap' | 'jest' | 'go';

/** A report that proves nothing. */
export class ReportProblem extends Error {}

/** What a parser knows about a test. */
export interface FoundTest {
  readonly names: readonly string[];
  readonly status: TestResult['status'];
  readonly file?: string | null;
  readonly message?: string | null;
  readonly durationMs?: number | null;
}

const mostResults = 100_000;
/** Characters of a name, and of a message. */
const longestName = 1000;
const longestMessage = 2000;
/** Characters of all titles and messages together. A nested report could repeat one name in all of them. */
const longestTexts = 64 * 1024 * 1024;

/** Collects results within bounds. Throws if there are too many. */
export const createResults = () => {
  const results: TestResult[] = [];
  let size = 0;
  return {
    results,
    add: ({ names, status, file = null, message = null, durationMs = null }: FoundTest): void => {
      const shown = names.map((name) => cut(name, longestName).trim()).filter((name) => name !== '');
      const title = shown.join(' > ');
      const text = message === null ? null : cut(message.trim(), longestMessage) || null;
      size += title.length + (text?.length ?? 0);
      if (results.length >= mostResults) throw new ReportProblem(`has more than ${mostResults} tests`);
      if (size > longestTexts) throw new ReportProblem('has titles that are too long');
      results.push({
        names: shown,
        title,
        file: file === null ? null : cut(file, longestName),
        status,
        message: text,
        durationMs: durationMs !== null && Number.isFinite(durationMs) && durationMs >= 0 ? durationMs : null,
      });
    },
  };
};

export type Results = ReturnType<typeof createResults>;

/** Never between the two halves of a character. */
const cut = (text: string, length: number): string => {
  if (text.length <= length) return text;
  const part = text.slice(0, length);
  return /[\ud800-\udbff]$/.test(part) ? part.slice(0, -1) : part;
};

/** Suites in suites. No real report has as many. */
export const deepest = 100;

/** The lines of a text without the ends, one at a time: a list of all of them would take far more memory than the text. */
export function* eachLine(text: string): Generator<string> {
  for (let start = 0; start <= text.length;) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end === -1 ? text.length : end);
    yield line.endsWith('\r') ? line.slice(0, -1) : line;
    if (end === -1) return;
    start = end + 1;
  }
}

/** Whether the outermost name is a source file, as some runners have it. */
export const isFileName = (name: string): boolean =>
  /^[^\s>]{1,500}\.(?:[cm]?[jt]sx?|py|rb|go|rs|php|dart|vue|svelte|bats|t|pl|sh)$/i.test(name);
