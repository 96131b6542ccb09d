import { memoryOf } from '../../process/memory.ts';
import type { TurnEnd } from '../../ralph/agent-events.ts';
import type { Harness } from '../harness.ts';
import type { AgentTurn, SessionScope } from '../session.ts';
import { type AcpAgent, type AgentStart, startAgent, type StartProblem } from './agent.ts';
import { fingerprintOf } from './fingerprint.ts';
import { whyServerless, recycleLimits, recycleReason, type RecycleLimits } from './recycle.ts';

/** How long an agent may take to start. */
const bootMs = 60_000;

export interface Processes {
  /** How the process of the next turn has exited by itself; null if there is none, or it runs. Forgets that process. */
  exitedIdle(): Promise<TurnEnd | null>;
  /** Returns an agent for the next turn: a running one if the mode has one that is still good, or a new one. */
  ready(binary: string, turn: Pick<AgentTurn, 'job' | 'deadlines'>): Promise<Held | StartProblem>;
  /** The turn is over. Ends the agent unless it is healthy and stays warm. */
  done(isHealthy: boolean): Promise<void>;
  /** From now on, every turn gets a process of its own. */
  becomeCold(): Promise<void>;
  isCold(): boolean;
  close(): Promise<void>;
}

export interface Lifetime {
  readonly limits: RecycleLimits;
  /** In milliseconds, of a clock that is never set. */
  readonly now: () => number;
}

/** A running agent, and what is known of it. */
interface Held {
  readonly agent: AcpAgent;
  /** Of its first turn. */
  readonly model: string | null;
  readonly startedAt: number;
  readonly fingerprint: string;
  turns: number;
  usedAt: number;
  memoryBytes: number | null;
  firstIdleBytes: number | null;
}

interface Boot {
  readonly started: Promise<Held | StartProblem>;
  /** Ends the process and what it started, ready or not. */
  readonly cancel: () => Promise<void>;
}

const production: Lifetime = { limits: recycleLimits, now: () => performance.now() };

/** The processes of a session, one for each turn or one for many. */
export const createProcesses = (harness: Harness, scope: SessionScope, lifetime: Lifetime = production): Processes => {
  const { limits, now } = lifetime;
  let { mode } = scope;
  let count = 0;
  let current: Held | null = null;
  /** The process that boots while another one works. */
  let next: Boot | null = null;
  let idleTimer: NodeJS.Timeout | undefined;

  const boot = (start: Pick<AgentStart, 'binary' | 'job' | 'patienceMs'>): Boot =>
    bootAgent({ ...start, harness, scope, tag: `${scope.tag}/agent-${++count}` }, now);

  /** What is running, or was started ahead. */
  const waiting = async (): Promise<Held | null> => {
    const held = current ?? (await next?.started) ?? null;
    return held === null || 'why' in held ? null : held;
  };

  const take = async (model: string | null): Promise<Held | null> => {
    const taken = await waiting();
    [current, next] = [null, null];
    if (taken === null) return null;
    const why =
      harness.acp?.modelAtStart && taken.model !== model
        ? 'it needs another model'
        : recycleReason(factsOf(taken, now(), fingerprintFor(harness, scope)), limits);
    const { mayHaveServed } = why === null ? await taken.agent.started.endTools() : { mayHaveServed: false };
    const whyEnded = why ?? (mayHaveServed ? whyServerless : null);
    if (whyEnded === null && !taken.agent.hasExited()) return taken;
    if (whyEnded !== null) scope.onNotice(`${harness.title} is restarted: ${whyEnded}.`);
    await end(taken);
    return null;
  };

  const close = async (): Promise<void> => {
    clearTimeout(idleTimer);
    const [running, booting] = [current, next];
    [current, next] = [null, null];
    await Promise.all([end(running), booting?.cancel()]);
  };

  return {
    async exitedIdle() {
      const held = await waiting();
      if (!held?.agent.hasExited()) return null;
      [current, next] = [null, null];
      return held.agent.exited;
    },
    async ready(binary, { job, deadlines: { idleMs, iterationMs, leftMs } }) {
      clearTimeout(idleTimer);
      const start = { binary, job, patienceMs: Math.min(bootMs, idleMs, iterationMs, leftMs) };
      const held = (await take(job.model)) ?? (await boot(start).started);
      if ('why' in held) return held;
      current = held;
      if (mode === 'standby') next = boot(start);
      return held;
    },
    async done(isHealthy) {
      const held = current;
      if (held === null) return;
      if (mode !== 'warm' || !isHealthy) {
        current = null;
        return end(held);
      }
      held.turns++;
      held.usedAt = now();
      held.memoryBytes = memoryOf(held.agent.pid);
      held.firstIdleBytes ??= held.memoryBytes;
      idleTimer = setTimeout(() => void close(), limits.idleMs).unref();
    },
    async becomeCold() {
      mode = 'cold';
      await close();
    },
    isCold: () => mode === 'cold',
    close,
  };
};

const bootAgent = (start: Omit<AgentStart, 'cancel'>, now: Lifetime['now']): Boot => {
  const cancelling = new AbortController();
  const started = startHeld({ ...start, cancel: cancelling.signal }, now);
  return {
    started,
    cancel: async () => {
      cancelling.abort();
      await end(await started);
    },
  };
};

const startHeld = async (start: AgentStart, now: Lifetime['now']): Promise<Held | StartProblem> => {
  // What changes while it starts may have been read before.
  const fingerprint = fingerprintFor(start.harness, start.scope);
  const agent = await startAgent(start);
  if ('why' in agent) return agent;
  const at = now();
  return {
    agent,
    model: start.job.model,
    startedAt: at,
    usedAt: at,
    turns: 0,
    fingerprint,
    memoryBytes: null,
    firstIdleBytes: null,
  };
};

const fingerprintFor = (harness: Harness, { cwd, env }: SessionScope): string =>
  fingerprintOf(cwd, harness.acp?.readAtStart?.(env) ?? []);

const factsOf = (held: Held, now: number, fingerprint: string) => ({
  iterations: held.turns,
  memoryBytes: held.memoryBytes,
  firstIdleBytes: held.firstIdleBytes,
  ageMs: now - held.startedAt,
  idleMs: now - held.usedAt,
  fingerprintAtStart: held.fingerprint,
  fingerprint,
});

const end = async (held: Held | StartProblem | null): Promise<void> => {
  if (held !== null && 'agent' in held) await held.agent.stop();
};
