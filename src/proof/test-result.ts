/** The result of a test, from a report. */
export interface TestResult {
  /** The names of the suites around the test, from the outermost one, and its own. */
  readonly names: readonly string[];
  /** The names, joined with ` > `. */
  readonly title: string;
  /** As in the report: relative to some folder, or absolute. null if the report has none. */
  readonly file: string | null;
  readonly status: 'passed' | 'failed' | 'skipped' | 'todo';
  /** Why it failed or was skipped, shortened. */
  readonly message: string | null;
  readonly durationMs: number | null;
}
