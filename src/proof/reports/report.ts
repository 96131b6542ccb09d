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

const maxResults = 100_000;
/** Characters of a name, and of a message. */
const maxName = 1000;
const maxMessage = 2000;
/** Characters of all titles and messages together. A nested report could repeat one name in all of them. */
const maxTexts = 64 * 1024 * 1024;

/** Collects results within bounds. Throws if there are too many. */
export const createResults = () => {
  const results: TestResult[] = [];
  let size = 0;
  return {
    results,
    add: ({ names, status, file = null, message = null, durationMs = null }: FoundTest): void => {
      const shown = names.map((name) => shortened(name, maxName)).filter((name) => name !== '');
      const title = shown.join(' > ');
      const text = message === null ? null : shortened(message, maxMessage) || null;
      size += title.length + (text?.length ?? 0);
      if (results.length >= maxResults) throw new ReportProblem(`has more than ${maxResults} tests`);
      if (size > maxTexts) throw new ReportProblem('has titles that are too long');
      results.push({
        names: shown,
        title,
        file: file === null || file.length > maxName ? null : file,
        status,
        message: text,
        durationMs: durationMs !== null && Number.isFinite(durationMs) && durationMs >= 0 ? durationMs : null,
      });
    },
  };
};

export type Results = ReturnType<typeof createResults>;

/** Cuts between words, so that no part of a secret remains, which a redactor would not recognise. */
export const shortened = (text: string, length: number): string => {
  if (text.length <= length) return text.trim();
  const part = text.slice(0, length + 1);
  let end = length;
  while (end > 0 && !/\s/.test(part[end]!)) end--;
  return part.slice(0, end).trim();
};

/** Adds to a text that is shortened later, at a place before the one where this drops the rest. */
export const extended = (text: string, part: string): string =>
  text.length > 2 * maxMessage ? text : text + part.slice(0, 2 * maxMessage);

/** Suites in suites. No real report has as many. */
export const maxDepth = 100;

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
