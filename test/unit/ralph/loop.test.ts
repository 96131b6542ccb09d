import { describe, expect, test } from 'vitest';
import type { AgentEvent, Ended, RunEvent, RunPlan } from '../../../src/ralph/events.ts';
import { runLoop, type World } from '../../../src/ralph/loop.ts';

const plan: RunPlan = {
  run: 'run',
  change: '001-01_x',
  module: '001',
  agents: [{ harness: 'opencode', model: null }],
  allowAll: false,
  completionPromise: 'COMPLETE',
  minIterations: 1,
  maxIterations: 5,
  failFast: false,
  retryDelayMs: 1000,
  firstIteration: 1,
};

const exited = (exitCode: number): Ended => ({ end: 'exited', exitCode, signal: null, problem: null });
const says = (text: string): AgentEvent => ({ type: 'text', text, plain: false });

interface Call {
  readonly events?: readonly AgentEvent[];
  readonly ended?: Ended;
  /** The time when the agent ends, in milliseconds. */
  readonly at?: number;
  /** The signal that has come by the time the agent ends. */
  readonly signal?: string;
}

/** Runs the loop in a world that writes down all that is asked of it; the n-th call of the agent goes as the n-th says. */
const run = async (calls: readonly Call[], changes: { plan?: Partial<RunPlan>; signalWhileWaiting?: string } = {}) => {
  const diary: string[] = [];
  const events: RunEvent[] = [];
  const workers: string[] = [];
  let time = 0;
  let signal: string | null = null;
  let ticks = 0;
  const world: World = {
    now: () => new Date(time),
    ticks: () => (ticks += 10),
    stopSignal: () => signal,
    wait: async (ms) => {
      diary.push(`wait ${ms}`);
      signal = changes.signalWhileWaiting ?? signal;
    },
    prompt: async (iteration, last) => `prompt ${iteration} after ${last?.iteration ?? 'nothing'}`,
    watchWork: async () => async () => ({ git: null, commit: null }),
    runAgent: async ({ agent, iteration, prompt }, see) => {
      diary.push(prompt);
      workers.push(agent.harness);
      const call = calls[iteration - 1] ?? {};
      time = call.at ?? time;
      call.events?.forEach(see);
      signal = call.signal ?? signal;
      return call.ended ?? exited(0);
    },
    save: async (record) => void diary.push(`save ${record.iteration}`),
    emit: (event) => {
      events.push(event);
      if (event.type !== 'agent') diary.push(event.type);
    },
  };
  const reason = await runLoop({ ...plan, ...changes.plan }, null, world);
  return { reason, diary, events, workers };
};

describe('the loop', () => {
  test('goes on until the promise, and saves each record before it is announced', async () => {
    const { reason, diary } = await run([{}, { events: [says('<promise>COMPLETE</promise>')] }]);

    expect(reason).toBe('complete');
    const first = ['iteration-started', 'prompt 1 after nothing', 'save 1', 'iteration-finished'];
    const second = ['iteration-started', 'prompt 2 after 1', 'save 2', 'iteration-finished'];
    expect(diary).toEqual([...first, ...second, 'run-ended']);
  });

  test('waits longer after each failure in a row, and starts afresh after a success', async () => {
    const failing = { ended: exited(1) };
    const { reason, diary } = await run([failing, failing, {}, failing, failing]);

    expect(reason).toBe('limit');
    expect(diary.filter((entry) => entry.startsWith('wait '))).toEqual(['wait 1000', 'wait 2000', 'wait 1000']);
  });

  test('stops when a signal comes while an agent works, and keeps what it promised', async () => {
    expect(await run([{ signal: 'SIGINT' }])).toMatchObject({ reason: 'interrupted' });
    const promised = [says('<promise>COMPLETE</promise>')];
    expect(await run([{ signal: 'SIGINT', events: promised }])).toMatchObject({ reason: 'complete' });
  });

  test('stops when a signal comes while it waits', async () => {
    const { reason, diary } = await run([{ ended: exited(1) }], { signalWhileWaiting: 'SIGTERM' });

    expect(reason).toBe('interrupted');
    expect(diary.at(-2)).toBe('wait 1000');
  });

  test('measures an iteration by ticks that no clock disturbs, and hands on all events', async () => {
    const { events } = await run([{ events: [says('a'), says('b')] }], { plan: { maxIterations: 1 } });

    expect(events.filter((event) => event.type === 'agent').map((event) => event.event)).toEqual([
      says('a'),
      says('b'),
    ]);
    expect(events.find((event) => event.type === 'iteration-finished')).toMatchObject({ record: { durationMs: 10 } });
    expect(events.at(-1)).toMatchObject({ type: 'run-ended', reason: 'limit' });
  });

  const agents = ['first', 'second'].map((harness) => ({ harness, model: null }));
  const limited = (resetsAtMs: number): AgentEvent => ({ type: 'error', kind: 'limit', message: 'enough', resetsAtMs });

  test('hands over to the next agent at a usage limit, without waiting, and comes back when it is free', async () => {
    const calls = [{ events: [limited(5000)] }, { at: 4000 }, { at: 5000 }, {}];
    const { workers, diary } = await run(calls, { plan: { agents, maxIterations: 4 } });

    expect(workers).toEqual(['first', 'second', 'second', 'first']);
    expect(diary.filter((entry) => entry.startsWith('wait '))).toEqual([]);
  });

  test('hands over when an agent cannot start, and gives up when none can', async () => {
    const lost = { ended: { end: 'not-started', exitCode: null, signal: null, problem: 'gone' } } as const;
    expect(await run([lost], { plan: { agents, maxIterations: 2 } })).toMatchObject({
      reason: 'limit',
      workers: ['first', 'second'],
    });
    expect(await run([lost, lost], { plan: { agents } })).toMatchObject({
      reason: 'failed',
      workers: ['first', 'second'],
    });
  });

  test('does not believe a limit that is over already', async () => {
    const calls = [{ events: [limited(1)], at: 5000 }, {}, {}];
    expect(await run(calls, { plan: { agents, maxIterations: 3 } })).toMatchObject({
      workers: ['first', 'second', 'second'],
    });
  });

  test('goes on with the one that is free first when all are at their limit', async () => {
    const calls = [{ events: [limited(9000)] }, { events: [limited(8000)] }, {}];
    const { workers, diary } = await run(calls, { plan: { agents, maxIterations: 3 } });

    expect(workers).toEqual(['first', 'second', 'second']);
    expect(diary.filter((entry) => entry.startsWith('wait '))).toEqual(['wait 2000']);
  });

  test('counts from where it is told to', async () => {
    const { diary } = await run([], { plan: { firstIteration: 4, maxIterations: 4 } });

    expect(diary).toContain('save 4');
    expect(diary.filter((entry) => entry.startsWith('save'))).toHaveLength(1);
  });
});
