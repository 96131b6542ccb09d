import { asUserError } from '../errors.ts';
import { createOutputs } from '../report/outputs.ts';
import { version } from '../text/version.ts';

/** Set by the build: whether Node was started with this file. */
declare const SPOOL_IS_MAIN: boolean;

/** The exit code for a bug in Spool itself. */
const bugExitCode = 70;

let outputIsLost = false;

const outputs = createOutputs(() => {
  outputIsLost = true;
  if (process.exitCode === 0) process.exitCode = 1;
});

const main = async (argv: readonly string[]): Promise<number> => {
  if (argv[0] === '--version' || argv[0] === '-V') {
    outputs.printResult(`${version}\n`);
    return 0;
  }
  const { runCommandLine } = await import('./program.ts');
  return runCommandLine(argv, { cwd: process.cwd(), env: process.env, outputs });
};

const report = async (error: unknown): Promise<number> => {
  const { createRedactor } = await import('../secrets/redact.ts');
  const { text: redacted } = createRedactor(process.env);
  const known = asUserError(error);
  if (known) {
    outputs.log(redacted(`spool: ${known.message}\n`));
    return known.exitCode;
  }
  const stack = error instanceof Error ? error.stack : String(error);
  outputs.log(redacted(`spool: this is a bug in Spool ${version} on Node ${process.version}\n${stack}\n`));
  return bugExitCode;
};

/** How long a reader may take for the remaining output of an interrupted command. */
const unreadOutputMs = 1000;

const signals: Readonly<Record<number, NodeJS.Signals>> = { 129: 'SIGHUP', 130: 'SIGINT', 143: 'SIGTERM' };

/** Node waits until all output is read, even by a pager that hangs. An interrupted command ends by its signal instead. */
const endUnread = (exitCode: number): void => {
  const signal = signals[exitCode];
  if (signal) setTimeout(() => process.kill(process.pid, signal), unreadOutputMs).unref();
};

const start = async (): Promise<void> => {
  const exitCode = await main(process.argv.slice(2)).catch(report);
  process.exitCode = exitCode === 0 && outputIsLost ? 1 : exitCode;
  endUnread(exitCode);
};

// The library loads this file as well, and must not start the program.
if (SPOOL_IS_MAIN) void start();
