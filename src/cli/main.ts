import { signalExitCodes } from '../errors.ts';
import { createOutputs } from '../report/outputs.ts';
import { version } from '../text/version.ts';

let outputIsLost = false;

const outputs = createOutputs(() => {
  outputIsLost = true;
  if (process.exitCode === 0) process.exitCode = 1;
});

const main = async (argv: readonly string[]): Promise<number> => {
  if (argv.length > 0 && ['--version', '-V', '-v', 'version'].includes(argv[0]!)) {
    outputs.printResult(`${version}\n`);
    return 0;
  }
  const { runCommandLine } = await import('./program.ts');
  return runCommandLine(argv, { cwd: process.cwd(), env: process.env, outputs });
};

const report = async (error: unknown): Promise<number> => {
  const [{ describeError }, { createRedactor }, { createTerminal }, { say }] = await Promise.all([
    import('../commands/runs/run-exit-code.ts'),
    import('../secrets/redact.ts'),
    import('../report/terminal.ts'),
    import('../report/message.ts'),
  ]);
  const { code, text } = describeError(error);
  say(createTerminal(process.env, outputs), createRedactor(process.env).text(`spool: ${text}`));
  return code;
};

/** How long a reader may take for the remaining output of an interrupted command. */
const unreadOutputMs = 1000;

type StopSignal = keyof typeof signalExitCodes;

/**
 * Node waits until all output is read, even by a pager that hangs. An interrupted command ends by its signal instead.
 */
const endUnread = (exitCode: number): void => {
  const signal = (Object.keys(signalExitCodes) as StopSignal[]).find((each) => signalExitCodes[each] === exitCode);
  if (signal) setTimeout(() => process.kill(process.pid, signal), unreadOutputMs).unref();
};

/** Called by `launch/`. */
export const start = async (): Promise<void> => {
  const exitCode = await main(process.argv.slice(2)).catch(report);
  process.exitCode = exitCode === 0 && outputIsLost ? 1 : exitCode;
  endUnread(exitCode);
};
