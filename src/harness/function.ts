import { closeSync } from 'node:fs';
import { openSafely, writeAll } from '../files/safe.ts';
import { createWatchdog } from '../process/watchdog.ts';
import type { AbortReason, AgentEvent, TurnEnd } from '../ralph/agent-events.ts';
import type { AgentFunction } from './agent-function.ts';
import type { Harness } from './harness.ts';
import type { AgentSession, AgentTurn, SessionScope, TurnObserver } from './session.ts';

/** It has no program, so only `name` and `capabilities` are used. */
export const functionHarness = (name: string): Harness => ({
  name,
  title: name,
  install: '',
  launch: { binary: name, args: () => [] },
  output: { decoder: () => ({ stdout: () => null, end: () => [] }) },
  capabilities: ['text', 'tools', 'tokens', 'cost', 'denials'],
});

/** A session that calls a function for each turn. A function that throws has failed the turn. */
export const openFunction = (agent: AgentFunction, scope: SessionScope): AgentSession => ({
  prompt: (turn, observer) => runTurn(agent, { ...scope, ...turn }, observer),
  close: async () => {},
});

const runTurn = async (
  agent: AgentFunction,
  { cwd, env, stopSignals, redactor, job, logFile, deadlines }: SessionScope & AgentTurn,
  observer: TurnObserver,
): Promise<TurnEnd> => {
  if (stopSignals.stop.aborted) return { ...noExit, end: 'interrupted' };
  const aborting = new AbortController();
  const abort = (reason: AbortReason | null) => {
    if (reason !== null) aborting.abort(reason);
  };
  const watchdog = createWatchdog(deadlines, abort);
  const log = openSafely(logFile, 'create');
  let hasEnded = false;
  const emit = (event: AgentEvent) => {
    // A function that ignores its signal may continue, but the log is closed.
    if (hasEnded) return;
    watchdog.alive();
    writeAll(log, `${JSON.stringify(redactor.data(event))}\n`);
    abort(observer.onEvent(event));
  };
  const signal = AbortSignal.any([stopSignals.stop, aborting.signal]);
  try {
    const text = await untilAborted(agent({ prompt: job.prompt, cwd, env, signal, emit }), signal);
    if (text) emit({ type: 'text', text, plain: false });
  } catch (error) {
    if (!signal.aborted) emit({ type: 'error', kind: 'crash', message: messageOf(error) });
  } finally {
    hasEnded = true;
    watchdog.dispose();
    closeSync(log);
  }
  return endOf(stopSignals.stop, aborting.signal);
};

/** Does not wait for a function that ignores its signal. */
const untilAborted = async <Value>(work: Promise<Value> | Value, signal: AbortSignal): Promise<Value> => {
  const aborted = new Promise<never>((_, reject) => {
    // The function may have caused it.
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  return Promise.race([work, aborted]);
};

const endOf = (stop: AbortSignal, aborting: AbortSignal): TurnEnd => {
  if (stop.aborted) return { ...noExit, end: 'interrupted' };
  if (!aborting.aborted) return { ...noExit, end: 'answered' };
  const { end, why } = aborting.reason as AbortReason;
  return { ...noExit, end, problem: why };
};

const noExit = { exitCode: null, signal: null, problem: null };

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
