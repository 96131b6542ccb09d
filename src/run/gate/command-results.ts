import type { TestResult } from '../../proof/test-result.ts';
import type { ReportFile } from './report-files.ts';

export interface OutputWatch {
  readonly add: (chunk: Uint8Array) => void;
  /** What the command printed; null if that was too much for a report. */
  bytes(): Buffer | null;
}

const longestOutput = 32 * 1024 * 1024;

/** Keeps the output of a command, as long as it can be a report. */
export const watchOutput = (): OutputWatch => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    add: (chunk) => {
      length += chunk.length;
      if (length > longestOutput) chunks.length = 0;
      else chunks.push(Uint8Array.from(chunk));
    },
    bytes: () => (length > longestOutput ? null : Buffer.concat(chunks)),
  };
};

/** Returns the results in the reports of a command, and in its output if that is one. */
export const readTestResults = async (
  reports: readonly ReportFile[],
  output: Buffer | null,
): Promise<readonly TestResult[]> => {
  const texts = [...reports.map(({ bytes }) => bytes), ...(output ? [output] : [])].map((bytes) => bytes.toString());
  return texts.flatMap((text) =>
    [...text.matchAll(/^(ok|not ok) \d+ - ([^#\n]+?)(?: # (SKIP|TODO).*)?$/gm)].map(
      ([, ok, title, mark]): TestResult => ({
        names: [title!],
        title: title!,
        file: null,
        status: mark === 'SKIP' ? 'skipped' : mark === 'TODO' ? 'todo' : ok === 'ok' ? 'passed' : 'failed',
        message: null,
        durationMs: null,
      }),
    ),
  );
};
