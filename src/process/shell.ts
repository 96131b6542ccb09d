import { stripVTControlCharacters } from 'node:util';
import { childEnvironment } from './environment.ts';
import { maxRedactedLength, type Redactor } from '../secrets/redact.ts';
import { type Launch, runProcess, type ProcessControl } from './run.ts';
import { countTime } from './timers.ts';

export interface ShellRun extends Pick<
  Launch,
  'cwd' | 'env' | 'tag' | 'logFile' | 'stopGraceMs' | 'redactor' | 'sandbox'
> {
  /** A shell command line. */
  readonly command: string;
  readonly input?: string;
  readonly timeoutMs: number;
  readonly stopSignals: Pick<ProcessControl, 'stop' | 'kill'>;
  /** Called with what the command writes to its standard output. */
  readonly onStdout?: (chunk: Uint8Array) => void;
}

export interface ShellResult {
  readonly outcome: 'passed' | 'failed' | 'timed-out' | 'interrupted';
  readonly exitCode: number | null;
  /** The signal that ended it; null if none did. */
  readonly signal: string | null;
  /** The last lines of what it printed, without colors and secrets. */
  readonly tail: string;
}

/** Enough for a stack trace or the failures of a test run. */
const tailBytes = 64 * 1024;
const tailLines = 60;
const tailLength = 4000;

/** Runs a command of the user in a shell. Resolves when it has exited and nothing that it started is left. */
export const runShell = (run: ShellRun): Promise<ShellResult> =>
  runWithTail({ ...run, ...shellOf(run), env: childEnvironment(run.env), stdin: run.input ?? '' });

/** Does the same for a program without a shell. */
export const runWithTail = async (
  run: Launch & Pick<ShellRun, 'timeoutMs' | 'stopSignals' | 'onStdout'>,
): Promise<ShellResult> => {
  const timeout = new AbortController();
  let leftMs = run.timeoutMs;
  const stopCounting = countTime(run.timeoutMs, (passedMs) => {
    leftMs -= passedMs;
    if (leftMs <= 0) timeout.abort();
  });
  let tail = Buffer.alloc(0);
  let isCut = false;
  const ended = await runProcess(run, {
    output: (source, chunk) => {
      if (source === 'stdout') run.onStdout?.(chunk);
      const all = Buffer.concat([tail, chunk]);
      isCut ||= all.length > tailBytes;
      tail = all.subarray(-tailBytes);
      return null;
    },
    stop: AbortSignal.any([run.stopSignals.stop, timeout.signal]),
    kill: run.stopSignals.kill,
  }).finally(stopCounting);
  const outcome =
    ended.end === 'exited' && ended.exitCode === 0
      ? 'passed'
      : ended.end !== 'interrupted'
        ? 'failed'
        : run.stopSignals.stop.aborted
          ? 'interrupted'
          : 'timed-out';
  const printed = ended.problem ?? tail.toString('utf8');
  const { exitCode, signal } = ended;
  return { outcome, exitCode, signal, tail: lastLines(printed, { isCut, redactor: run.redactor }) };
};

/** How a process ended that did not pass: `exit code 1` or `ended by SIGKILL`; `not started` if it never ran. */
export const describeEnd = ({ exitCode, signal }: Pick<ShellResult, 'exitCode' | 'signal'>): string =>
  exitCode !== null ? `exit code ${exitCode}` : signal !== null ? `ended by ${signal}` : 'not started';

const shellOf = ({ command, env }: Pick<ShellRun, 'command' | 'env'>) =>
  process.platform === 'win32'
    ? { binary: env.ComSpec ?? 'cmd.exe', args: ['/d', '/s', '/c', command] }
    : { binary: '/bin/sh', args: ['-c', command] };

/** If the beginning of the text was cut off, it may begin in the middle of a secret. */
const lastLines = (text: string, { isCut, redactor }: { isCut: boolean; redactor: Redactor }): string => {
  const clean = redactor.endOf(text, isCut ? Math.max(0, text.length - maxRedactedLength) : text.length);
  const plain = stripVTControlCharacters(clean).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
  return redactor.text(plain).trimEnd().split('\n').slice(-tailLines).join('\n').slice(-tailLength);
};
