import { environmentIn } from './environment.ts';
import { currentScope } from './scope.ts';
import { spawn } from './spawn.ts';
import { signalGroup } from './tree.ts';

export interface ProgramCall {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** What the program reads from stdin; nothing if it is missing. */
  readonly input?: string;
  /** Defaults to the working directory of Spool. */
  readonly cwd?: string | undefined;
  readonly patienceMs: number;
  /** More characters of stdout and of stderr are cut off. */
  readonly maxOutput: number;
  /** Ends the program once its stdout is longer than that, because a part of it is of no use. */
  readonly isUselessIfCut?: boolean;
  /** Abort to end the program. */
  readonly stop?: AbortSignal | undefined;
  readonly started?: ((pid: number) => void) | undefined;
}

export interface ProgramOutput {
  /** null if it could not be run, or did not end by itself. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly isCut: boolean;
  readonly isTimedOut: boolean;
}

/** Runs a program without a shell, and returns its output. Ends every process that it started. */
export const runProgram = (call: ProgramCall): Promise<ProgramOutput> =>
  new Promise((resolve) => {
    const { binary, args, env, stop, cwd = currentScope().cwd, patienceMs, maxOutput } = call;
    const child = spawn(binary, args, {
      cwd,
      env: environmentIn(cwd, env),
      stdio: [call.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    if (child.pid) call.started?.(child.pid);
    // A program may exit without reading it.
    child.stdin?.on('error', () => {});
    child.stdin?.end(call.input);
    const said = { stdout: '', stderr: '' };
    let [isCut, isTimedOut] = [false, false];
    const giveUp = () => {
      if (child.pid) signalGroup(child.pid, 'SIGKILL');
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    for (const source of ['stdout', 'stderr'] as const)
      child[source]?.setEncoding('utf8').on('data', (text: string) => {
        const whole = said[source] + text;
        said[source] = whole.slice(0, maxOutput);
        if (source === 'stderr' || whole.length <= maxOutput) return;
        isCut = true;
        if (call.isUselessIfCut) giveUp();
      });
    const timer = setTimeout(() => {
      isTimedOut = true;
      giveUp();
    }, patienceMs);
    stop?.addEventListener('abort', giveUp);
    const finish = (code: number | null) => {
      clearTimeout(timer);
      stop?.removeEventListener('abort', giveUp);
      if (child.pid) signalGroup(child.pid, 'SIGKILL');
      resolve({ code, ...said, isCut, isTimedOut });
    };
    child.on('error', () => finish(null));
    child.on('close', finish);
    if (stop?.aborted) giveUp();
  });
