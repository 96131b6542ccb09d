import { systemProblem, UserError, userError } from '../errors.ts';
import { createOutputs } from '../report/outputs.ts';
import { version } from '../text/version.ts';

/** The exit code for a bug in Spool itself. */
const bug = 70;

let answerIsLost = false;

const outputs = createOutputs(() => {
  answerIsLost = true;
  if (process.exitCode === 0) process.exitCode = 1;
});

const main = async (argv: readonly string[]): Promise<number> => {
  if (argv[0] === '--version' || argv[0] === '-V') {
    outputs.answer(`${version}\n`);
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
    outputs.say(redacted(`spool: ${known.message}\n`));
    return known.exitCode;
  }
  const stack = error instanceof Error ? error.stack : String(error);
  outputs.say(redacted(`spool: this is a bug in Spool ${version} on Node ${process.version}\n${stack}\n`));
  return bug;
};

/** What the operating system refuses (a full disk, a folder that may not be read) is not our bug. */
const asUserError = (error: unknown): UserError | null => {
  if (error instanceof UserError) return error;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (!code || !syscall) return null;
  return userError('io', path ?? (syscall === 'uv_cwd' ? 'the current folder' : syscall), systemProblem(error));
};

/** How long a reader may take for the last words of a command that was asked to stop. */
const lastWordsMs = 1000;

const signals: Readonly<Record<number, NodeJS.Signals>> = { 129: 'SIGHUP', 130: 'SIGINT', 143: 'SIGTERM' };

/** Node waits until all output is read, also by a pager that was left. Whoever was asked to stop ends by that signal then. */
const endUnread = (exitCode: number): void => {
  const signal = signals[exitCode];
  if (signal) setTimeout(() => process.kill(process.pid, signal), lastWordsMs).unref();
};

const start = async (): Promise<void> => {
  const exitCode = await main(process.argv.slice(2)).catch(report);
  process.exitCode = exitCode === 0 && answerIsLost ? 1 : exitCode;
  endUnread(exitCode);
};

void start();
