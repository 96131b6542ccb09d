import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { withoutInheritedFds } from '../process/descriptors.ts';
import { environmentIn, signalGroup } from '../process/tree.ts';
import { commandLine } from '../text/shell-words.ts';
import type { Runtime } from './find.ts';
import type { FromKeeper, ToKeeper, WrapRequest } from './messages.ts';

/** The process that holds the sandbox runtime, as Spool sees it. */
export interface Keeper {
  /** A shell command that runs a line inside. */
  wrap(request: WrapRequest, stop?: AbortSignal): Promise<string>;
  /** Called when a process that was wrapped has ended. */
  cleanUp(): void;
  /**
   * Whether a process inside can write to a folder that it is given. Rejects with what is wrong when none starts, or
   * does not end in time, and when `stop` is aborted; no process is left then.
   */
  canWrite(folder: string, stop: AbortSignal): Promise<boolean>;
  /** Aborted when it is gone. */
  readonly lost: AbortSignal;
  end(): Promise<void>;
}

export interface KeeperRequest {
  /** Where it runs: a folder in which there is nothing of the project, as the runtime protects what it finds there. */
  readonly folder: string;
  /** Deleted when Spool is gone. */
  readonly base: string;
  readonly env: NodeJS.ProcessEnv;
  readonly runtime: Runtime;
  readonly hosts: readonly string[];
  /** Aborted when its start is not waited for any more. */
  readonly stop?: AbortSignal | undefined;
}

/** How long it may take to start, to answer, and to end. */
const startMs = 30_000;
const endMs = 3000;

export const startKeeper = async (request: KeeperRequest): Promise<Keeper> => {
  const { folder, base, env, runtime, hosts, stop } = request;
  const program = fileURLToPath(new URL('../sandbox.cjs', import.meta.url));
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: environmentIn(folder, env),
    stdio: withoutInheritedFds(['ignore', 'ignore', 'ignore', 'ipc']),
    // A group of its own, in which everything is found that the runtime has started.
    detached: true,
  });
  const lost = new AbortController();
  const gone = new Promise<void>((resolve) => {
    const leave = () => {
      if (child.pid) signalGroup(child.pid, 'SIGKILL');
      lost.abort();
      resolve();
    };
    child.once('exit', leave);
    child.once('error', leave);
  });
  const calls = createCalls(child, lost.signal);
  const { library, tools } = runtime;
  const { problem } = await calls.start({ do: 'start', library, tools, hosts, base }, stop);
  const end = async () => {
    if (child.connected) child.disconnect();
    await Promise.race([gone, delay(endMs, undefined, { ref: false })]);
    if (child.pid) signalGroup(child.pid, 'SIGKILL');
  };
  if (problem !== null) {
    await end();
    throw new Error(problem);
  }
  const keeper: Keeper = {
    wrap: calls.wrap,
    cleanUp: () => {
      if (child.connected) child.send({ do: 'clean-up' } satisfies ToKeeper, () => {});
    },
    canWrite: (path, stop) => tryToWrite(keeper, { path, cwd: folder, env, stop }),
    lost: lost.signal,
    end,
  };
  return keeper;
};

/**
 * Calls `giveUp` once, when a signal is aborted or the time is over, unless the function that it answers with is called
 * first. With a timer, as Node 20 forgets a timeout signal that only `AbortSignal.any` refers to.
 */
const onGivingUp = (
  giveUp: () => void,
  { limitMs, signals }: { limitMs: number; signals: readonly AbortSignal[] },
): (() => void) => {
  const over = new AbortController();
  const first = () => {
    if (over.signal.aborted) return;
    release();
    giveUp();
  };
  const timer = setTimeout(first, limitMs);
  const release = () => {
    clearTimeout(timer);
    over.abort();
  };
  for (const signal of signals) signal.addEventListener('abort', first, { signal: over.signal });
  if (signals.some(({ aborted }) => aborted)) queueMicrotask(first);
  return release;
};

type Started = FromKeeper & { did: 'start' };

/** Questions, and the answers to them; an error when there is none because the process is gone. */
const createCalls = (child: ChildProcess, lost: AbortSignal) => {
  let last = 0;
  const waiting = new Map<number, (answer: FromKeeper) => void>();
  child.on('message', (answer: FromKeeper) => {
    const number = answer.did === 'wrap' ? answer.number : 0;
    waiting.get(number)?.(answer);
    waiting.delete(number);
  });
  const ask = <Answer extends FromKeeper>(number: number, request: ToKeeper, stop?: AbortSignal): Promise<Answer> => {
    return new Promise<Answer>((resolve, reject) => {
      const giveUp = () => {
        release();
        reject(new Error(lost.aborted ? 'its process ended' : 'it does not answer'));
      };
      const release = onGivingUp(giveUp, { limitMs: startMs, signals: stop ? [lost, stop] : [lost] });
      waiting.set(number, (answer) => {
        release();
        resolve(answer as Answer);
      });
      child.send(request, (error) => {
        if (error) giveUp();
      });
    });
  };
  return {
    start: (request: ToKeeper, stop?: AbortSignal): Promise<Started> =>
      ask<Started>(0, request, stop).catch((error: unknown) => ({ did: 'start', problem: (error as Error).message })),
    wrap: async (request: WrapRequest, stop?: AbortSignal): Promise<string> => {
      const number = ++last;
      const asked = { do: 'wrap', number, ...request } as const;
      const { command, problem } = await ask<FromKeeper & { did: 'wrap' }>(number, asked, stop);
      if (command === null) throw new Error(problem ?? 'no command');
      return command;
    },
  };
};

interface Trial {
  readonly path: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
}

/** No exit code of a shell or of bubblewrap. */
const cannotWrite = 77;
/** How long the trial may take. */
const trialMs = 30_000;
/** How long somebody who has left the group may keep the output open. */
const pipeGraceMs = 500;

/** Whether this machine allows it at all is known when something has run inside. */
const tryToWrite = async (keeper: Keeper, { path, cwd, env, stop }: Trial): Promise<boolean> => {
  const line = `${commandLine('test', '-w', path)} || exit ${cannotWrite}`;
  const wrapped = await keeper.wrap({ line, id: 'try', writable: [path], readOnly: [], hidden: [] }, stop);
  const child = spawn('/bin/sh', ['-c', `exec ${wrapped}`], {
    cwd,
    env: environmentIn(cwd, env),
    stdio: withoutInheritedFds(['ignore', 'ignore', 'pipe']),
    detached: true,
  });
  const kill = () => {
    if (child.pid) signalGroup(child.pid, 'SIGKILL');
  };
  let isGivenUp = false;
  const release = onGivingUp(
    () => {
      isGivenUp = true;
      kill();
    },
    { limitMs: trialMs, signals: [stop] },
  );
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (said += text));
  try {
    const closed = once(child, 'close').catch(() => {});
    const [code] = (await once(child, 'exit')) as [number | null];
    await Promise.race([closed, delay(pipeGraceMs, undefined, { ref: false })]);
    if (isGivenUp) throw new Error('what was run inside to try it did not end');
    if (code === cannotWrite) return false;
    if (code !== 0) throw new Error(said.trim().split('\n')[0]?.slice(0, 300) || `it ended with code ${code}`);
    return true;
  } finally {
    release();
    child.stderr!.destroy();
    kill();
    keeper.cleanUp();
  }
};
