import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { environmentIn, signalGroup } from '../process/tree.ts';
import { commandLine } from '../text/shell-words.ts';
import type { Runtime } from './find.ts';
import type { FromKeeper, ToKeeper, WrapRequest } from './messages.ts';

/** The process that holds the sandbox runtime, as Spool sees it. */
export interface Keeper {
  /** A shell command that runs a line inside. */
  wrap(request: WrapRequest): Promise<string>;
  /** Called when a process that was wrapped has ended. */
  cleanUp(): void;
  /** Whether a process inside can write to a folder that it is given. Rejects with what is wrong when none starts. */
  canWrite(folder: string): Promise<boolean>;
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
}

/** How long it may take to start, to answer, and to end. */
const startMs = 30_000;
const endMs = 3000;

export const startKeeper = async ({ folder, base, env, runtime, hosts }: KeeperRequest): Promise<Keeper> => {
  const program = fileURLToPath(new URL('../sandbox.cjs', import.meta.url));
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: environmentIn(folder, env),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
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
  const { problem } = await calls.start({ do: 'start', library: runtime.library, tools: runtime.tools, hosts, base });
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
    canWrite: (path) => tryToWrite(keeper, { path, cwd: folder, env }),
    lost: lost.signal,
    end,
  };
  return keeper;
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
  const ask = <Answer extends FromKeeper>(number: number, request: ToKeeper): Promise<Answer> => {
    const patience = AbortSignal.any([lost, AbortSignal.timeout(startMs)]);
    return new Promise<Answer>((resolve, reject) => {
      const giveUp = () => reject(new Error(lost.aborted ? 'its process ended' : 'it does not answer'));
      if (patience.aborted) return giveUp();
      patience.addEventListener('abort', giveUp, { once: true });
      waiting.set(number, (answer) => {
        patience.removeEventListener('abort', giveUp);
        resolve(answer as Answer);
      });
      child.send(request, (error) => {
        if (error) giveUp();
      });
    });
  };
  return {
    start: (request: ToKeeper): Promise<Started> =>
      ask<Started>(0, request).catch((error: unknown) => ({ did: 'start', problem: (error as Error).message })),
    wrap: async (request: WrapRequest): Promise<string> => {
      const number = ++last;
      const asked = { do: 'wrap', number, ...request } as const;
      const { command, problem } = await ask<FromKeeper & { did: 'wrap' }>(number, asked);
      if (command === null) throw new Error(problem ?? 'no command');
      return command;
    },
  };
};

interface Trial {
  readonly path: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** No exit code of a shell or of bubblewrap. */
const cannotWrite = 77;

/** Whether this machine allows it at all is known when something has run inside. */
const tryToWrite = async (keeper: Keeper, { path, cwd, env }: Trial): Promise<boolean> => {
  const line = `${commandLine('test', '-w', path)} || exit ${cannotWrite}`;
  const wrapped = await keeper.wrap({ line, id: 'try', writable: [path], readOnly: [], hidden: [] });
  const child = spawn('/bin/sh', ['-c', `exec ${wrapped}`], {
    cwd,
    env: environmentIn(cwd, env),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(child, 'close')) as [number | null];
  keeper.cleanUp();
  if (code === cannotWrite) return false;
  if (code !== 0) throw new Error(said.trim().split('\n')[0]?.slice(0, 300) || `it ended with code ${code}`);
  return true;
};
