import type { ShellRun } from '../../process/shell.ts';
import { readReport } from '../../proof/reports/read-report.ts';
import type { TestResult } from '../../proof/test-result.ts';
import { openReportFiles, type ReportFile, type ReportFilesRequest } from './report-files.ts';

export interface CommandResults {
  readonly tests: readonly TestResult[];
  /** Sentences about reports that could not be read. */
  readonly problems: readonly string[];
}

type RunCommand<Result, Extra extends 'env' | 'onStdout'> = (extra: Required<Pick<ShellRun, Extra>>) => Promise<Result>;

/** Runs one attempt of a command with what it needs to report test results. Returns what it has reported. */
export const runWithReports = async <Result>(
  request: ReportFilesRequest,
  run: RunCommand<Result, 'env' | 'onStdout'>,
): Promise<CommandResults & { readonly result: Result }> => {
  const reports = openReportFiles(request);
  try {
    const output = watchOutput();
    const result = await run({ env: reports.variables, onStdout: output.add });
    return { result, ...(await readTestResults(reports.collect(), output.bytes())) };
  } finally {
    reports.discard();
  }
};

/** Does the same if nothing depends on the results: the command still finds a folder for its reports. */
export const runWithoutResults = async <Result>(
  request: Omit<ReportFilesRequest, 'patterns'>,
  run: RunCommand<Result, 'env'>,
): Promise<Result> => {
  const reports = openReportFiles({ ...request, patterns: [] });
  try {
    return await run({ env: reports.variables });
  } finally {
    reports.discard();
  }
};

interface OutputWatch {
  readonly add: (chunk: Uint8Array) => void;
  /** What the command printed; null if that was too much for a report. */
  bytes(): Buffer | null;
}

const maxOutput = 32 * 1024 * 1024;

/** Keeps the output of a command, as long as it can be a report. */
const watchOutput = (): OutputWatch => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    add: (chunk) => {
      length += chunk.length;
      if (length > maxOutput) chunks.length = 0;
      else chunks.push(Uint8Array.from(chunk));
    },
    bytes: () => (length > maxOutput ? null : Buffer.concat(chunks)),
  };
};

/** Returns the results in the reports of a command, and in its output if that is one. */
const readTestResults = async (reports: readonly ReportFile[], output: Buffer | null): Promise<CommandResults> => {
  const found = await Promise.all(reports.map(({ bytes, name }) => readReport(bytes, name)));
  const printed = output === null ? null : await readReport(output, '');
  return {
    tests: [
      ...found.flatMap((each) => (each.kind === 'results' ? each.results : [])),
      ...(printed?.kind === 'results' ? printed.results : []),
    ],
    problems: found.flatMap((each) => (each.kind === 'problem' ? [each.message] : [])),
  };
};
