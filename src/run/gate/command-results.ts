import { readReport } from '../../proof/reports/read-report.ts';
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

export interface CommandResults {
  readonly tests: readonly TestResult[];
  /** Sentences about reports that could not be read. */
  readonly problems: readonly string[];
}

/** Returns the results in the reports of a command, and in its output if that is TAP or the JSON of `go test`. */
export const readTestResults = async (
  reports: readonly ReportFile[],
  output: Buffer | null,
): Promise<CommandResults> => {
  const found = await Promise.all(reports.map(({ bytes, name }) => readReport(bytes, name)));
  const printed = output === null ? null : await readReport(output, '');
  const isReport = printed?.kind === 'results' && (printed.format === 'tap' || printed.format === 'go');
  return {
    tests: [
      ...found.flatMap((each) => (each.kind === 'results' ? each.results : [])),
      ...(isReport ? printed.results : []),
    ],
    problems: found.flatMap((each) => (each.kind === 'problem' ? [each.message] : [])),
  };
};
