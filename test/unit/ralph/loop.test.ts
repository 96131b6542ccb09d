import { describe, expect, test } from 'vitest';
import {
  type AgentEvent,
  type TurnEnd,
  type GateReport,
  type IterationRecord,
  unknownUsage,
  type RunEvent,
  type RunPlan,
} from '../../../src/ralph/events.ts';
import { runLoop, type LoopState, type LoopHost } from '../../../src/ralph/loop.ts';
import { initialView, reduceView } from '../../../src/ralph/fold.ts';
import type { RunTotals } from '../../../src/ralph/totals.ts';
import { noGate, noLimits, recordWith } from './records.ts';

const plan: RunPlan = {
  run: 'run',
  change: '001-01_x',
  module: '001',
  agents: [{ harness: 'opencode', model: null }],
  allowAll: false,
  sandbox: false,
  completionPromise: 'COMPLETE',
  minIterations: 1,
  maxIterations: 5,
  failFast: false,
  retryDelayMs: 1000,
  firstIteration: 1,
  blockedPromise: 'BLOCKED',
  limits: noLimits,
  gate: noGate,
  commit: true,
};

const exited = (exitCode: number): TurnEnd => ({ end: 'exited', exitCode, signal: null, problem: null });
const says = (text: string): AgentEvent => ({ type: 'text', text, plain: false });

interface Call {
  readonly events?: readonly AgentEvent[];
  readonly ended?: TurnEnd;
  /** The time when the agent ends, in milliseconds. */
  readonly at?: number;
  /** The signal that has come by the time the agent ends. */
  readonly signal?: string;
  readonly gate?: (promised: boolean) => GateReport | null;
}

/** Runs the loop in a world that writes down all that is asked of it; the n-th call of the agent goes as the n-th says. */
const run = async (
  calls: readonly Call[],
  changes: {
    plan?: Partial<RunPlan>;
    standing?: Partial<LoopState>;
    totals?: Partial<RunTotals>;
    signalWhileWaiting?: string;
    /** What a gate says that was cut off before. */
    gateAgain?: GateReport;
  } = {},
) => {
  const diary: string[] = [];
  const events: RunEvent[] = [];
  const workers: string[] = [];
  let time = 0;
  let signal: string | null = null;
  let ticks = 0;
  let number = 0;
  const iterations: number[] = [];
  const whole = { ...plan, ...changes.plan };
  const facts = { pid: 1, startedAt: '', at: new Date(0).toISOString() };
  let view = { ...initialView(whole, facts), ...changes.totals };
  const world: LoopHost = {
    totals: () => view,
    now: () => new Date(time),
    ticks: () => (ticks += 10),
    stopSignal: () => signal,
    elapsedMs: () => time,
    random: () => 0.5,
    usageOfOthers: () => null,
    wait: async (ms) => {
      diary.push(`wait ${ms}`);
      signal = changes.signalWhileWaiting ?? signal;
    },
    waitUntil: async (ms) => {
      diary.push(`wait until ${ms}`);
      time = ms;
      signal = changes.signalWhileWaiting ?? signal;
    },
    gate: async (iteration, { completionFound }, again) =>
      again ? (changes.gateAgain ?? null) : (calls[number - 1]?.gate?.(completionFound) ?? null),
    tasks: async () => null,
    withoutSecrets: (record) => record,
    prompt: async (iteration, last) => `prompt ${iteration} after ${last?.iteration ?? 'nothing'}`,
    trackWork: async () => async () => ({ git: null, commit: null, commitProblem: null, checkpoint: null }),
    uncommitted: async () => [],
    release: async (reason) => [`released after ${reason}`],
    trailer: () => [],
    runAgent: async ({ agent, iteration, prompt }, see) => {
      diary.push(prompt);
      workers.push(agent.harness);
      const call = calls[number++] ?? {};
      iterations.push(iteration);
      time = call.at ?? time;
      const halt = call.events?.map(see).find((answer) => answer !== null);
      signal = call.signal ?? signal;
      if (halt) return { ...exited(0), end: halt.end, problem: halt.why };
      return call.ended ?? exited(0);
    },
    save: async (record) => void diary.push(`save ${record.iteration}`),
    emit: (event) => {
      view = reduceView(view, event);
      events.push(event);
      if (event.type !== 'agent') diary.push(event.type);
    },
  };
  const standing = { last: null, cooldowns: new Map(), pending: null, ...changes.standing };
  const reason = await runLoop(whole, standing, world);
  const waits = diary.filter((entry) => entry.startsWith('wait '));
  const stop = events.find((event) => event.type === 'run-ended');
  return { reason, diary, events, workers, iterations, waits, stop };
};

const verified: Partial<RunPlan> = { gate: { ...noGate, verify: ['npm test'] } };
const gateWith = (outcome: GateReport['runs'][number]['outcome']): GateReport => ({
  passed: outcome === 'passed',
  tampering: [],
  openTasks: [],
  runs: [{ command: 'npm test', outcome, exitCode: 0, durationMs: 1, tail: '' }],
});
const promised = [says('<promise>COMPLETE</promise>')];

describe('a gate with commands', () => {
  test('finds the iteration on disk when it starts', async () => {
    const { reason, diary } = await run([{ events: promised, gate: () => gateWith('passed') }], { plan: verified });

    expect(reason).toBe('complete');
    expect(diary.slice(2)).toEqual(['iteration-pending', 'save 1', 'iteration-finished', 'run-ended']);
  });

  test('that is cut off leaves the iteration pending, and does not record it', async () => {
    const cutOff = { events: promised, signal: 'SIGINT', gate: () => gateWith('interrupted') };
    const { reason, diary, stop } = await run([cutOff], { plan: verified });

    expect(reason).toBe('interrupted');
    expect(diary.slice(2)).toEqual(['iteration-pending', 'run-ended']);
    expect(stop).toMatchObject({ cause: 'signal', detail: expect.stringContaining('the checks of iteration 1') });
  });

  test('is all that is run of an iteration that is pending, before any limit', async () => {
    const pending = recordWith({ iteration: 1, completionFound: true });
    const { reason, diary, events } = await run([], {
      plan: { ...verified, maxIterations: 1 },
      standing: { pending },
      gateAgain: gateWith('passed'),
    });

    expect(reason).toBe('complete');
    expect(diary).toEqual(['save 1', 'iteration-finished', 'run-ended']);
    expect(events[0]).toMatchObject({ record: { ...pending, gate: { passed: true } } });
  });

  test('of an iteration that is pending may refuse it, and the next number follows', async () => {
    const pending = recordWith({ iteration: 1, completionFound: true });
    const { iterations, diary } = await run([{ events: promised }], {
      plan: verified,
      standing: { pending },
      gateAgain: gateWith('failed'),
    });

    expect(iterations).toEqual([2]);
    expect(diary).toContain('prompt 2 after 1');
    expect(diary.filter((entry) => entry.startsWith('save'))).toEqual(['save 1', 'save 2']);
  });
});

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
    expect(events.at(-1)).toMatchObject({ type: 'run-ended', reason: 'limit', notes: ['released after limit'] });
  });

  test('starts with the next number, and knows what was before', async () => {
    const { diary } = await run([], { plan: { maxIterations: 4 }, totals: { finishedIterations: 3 } });

    expect(diary).toContain('save 4');
    expect(diary.filter((entry) => entry.startsWith('save'))).toHaveLength(1);
  });

  test('a limit that is reached already ends it before it starts', async () => {
    const usage = { ...unknownUsage, costUsd: 5 };
    const limits = { ...noLimits, maxCostUsd: 5 };
    const { stop, iterations } = await run([], { plan: { limits }, totals: { usage } });

    expect(stop).toMatchObject({ cause: 'max-cost', reason: 'limit' });
    expect(iterations).toEqual([]);
  });

  test('ends an agent that spends too much, with what was spent before in mind', async () => {
    const spends = (costUsd: number): AgentEvent => ({ type: 'usage', ...unknownUsage, costUsd });
    const limits = { ...noLimits, maxCostUsd: 5 };
    const { stop, events } = await run([{ events: [spends(3)] }, { events: [spends(1), spends(1), spends(9)] }], {
      plan: { limits },
    });

    expect(stop).toMatchObject({ cause: 'max-cost', detail: '--max-cost 5 reached: $14.00 spent' });
    expect(events.findLast((event) => event.type === 'iteration-finished')).toMatchObject({
      record: { end: 'out-of-budget', error: { kind: 'budget' } },
    });
  });

  test('stops when the agent gives up', async () => {
    const { reason, stop } = await run([{ events: [says('<promise>BLOCKED</promise>\nNo key.')] }]);
    expect({ reason, detail: stop?.detail }).toEqual({ reason: 'blocked', detail: 'the agent gave up: No key.' });
  });

  const red = (passed: boolean): GateReport => ({
    passed,
    tampering: passed ? [] : ['x was changed'],
    openTasks: [],
    runs: [],
  });

  test('a promise that the gate refuses does not count, and the next one may', async () => {
    const promised = [says('<promise>COMPLETE</promise>')];
    const { events, reason } = await run([
      { events: promised, gate: () => red(false) },
      { events: promised, gate: () => red(true) },
    ]);

    expect(reason).toBe('complete');
    const records = events.flatMap((event) => (event.type === 'iteration-finished' ? [event.record] : []));
    expect(records).toMatchObject([
      { completionFound: false, evidence: null, rejected: 'x was changed' },
      { completionFound: true, rejected: null },
    ] satisfies Partial<IterationRecord>[]);
  });

  test('the gate is told whether there was a promise', async () => {
    const told: boolean[] = [];
    const gate = (promised: boolean) => {
      told.push(promised);
      return null;
    };
    await run([{ gate }, { events: [says('<promise>COMPLETE</promise>')], gate }]);
    expect(told).toEqual([false, true]);
  });
});

describe('an agent that cannot work now', () => {
  const agents = ['first', 'second'].map((harness) => ({ harness, model: null }));
  const limited = (resetsAtMs?: number): AgentEvent => ({
    type: 'error',
    kind: 'rate-limit',
    message: 'enough',
    ...(resetsAtMs === undefined ? {} : { resetsAtMs }),
  });
  const lost = { ended: { end: 'not-started', exitCode: null, signal: null, problem: 'gone' } } as const;

  test('hands over to the next agent without waiting or counting, and comes back when it is free', async () => {
    const calls = [{ events: [limited(5000)] }, { at: 4000 }, { at: 6000 }, {}];
    const { workers, waits, iterations } = await run(calls, { plan: { agents, maxIterations: 3 } });

    expect(workers).toEqual(['first', 'second', 'second', 'first']);
    expect(iterations).toEqual([1, 1, 2, 3]);
    expect(waits).toEqual([]);
  });

  test('hands over when an agent cannot start, and gives up when none can', async () => {
    expect(await run([lost], { plan: { agents, maxIterations: 1 } })).toMatchObject({
      reason: 'limit',
      workers: ['first', 'second'],
    });
    expect(await run([lost, lost], { plan: { agents } })).toMatchObject({
      reason: 'failed',
      workers: ['first', 'second'],
    });
  });

  const signedOut: AgentEvent = { type: 'error', kind: 'auth', message: 'sign in' };

  test('an agent that is not signed in is no failure while another one only waits for its limit', async () => {
    const calls = [{ events: [limited(100_000)] }, { events: [signedOut] }, {}];
    const { workers, waits, reason } = await run(calls, { plan: { agents, maxIterations: 1, failFast: true } });

    expect(workers).toEqual(['first', 'second', 'first']);
    expect(waits).toEqual(['wait until 105000']);
    expect(reason).toBe('limit');
  });

  test('when none of them is signed in, that is a failure', async () => {
    const calls = [{ events: [signedOut] }, { events: [signedOut] }];
    expect(await run(calls, { plan: { agents, failFast: true } })).toMatchObject({
      reason: 'failed',
      iterations: [1, 1],
    });
  });

  test('another model of the same agent takes over as well', async () => {
    const models = ['one', 'two'].map((model) => ({ harness: 'claude', model }));
    const { waits, events } = await run([{ events: [limited(100_000)] }, {}], {
      plan: { agents: models, maxIterations: 1 },
    });

    expect(waits).toEqual([]);
    expect(events.findLast((event) => event.type === 'iteration-started')).toMatchObject({ agent: { model: 'two' } });
  });

  test('waits for its usage limit to end, and a little longer; the same iteration is tried again', async () => {
    const { waits, iterations, events, reason } = await run([{ events: [limited(100_000)] }, {}], {
      plan: { maxIterations: 1, failFast: true },
    });

    expect(waits).toEqual(['wait until 105000']);
    expect(iterations).toEqual([1, 1]);
    expect(reason).toBe('limit');
    expect(events.filter((event) => event.type === 'iteration-finished')).toMatchObject([
      { record: { iteration: 1, error: null, deferred: [{ harness: 'opencode', error: { kind: 'rate-limit' } }] } },
    ]);
  });

  test('waits longer each time when nobody says for how long, up to half an hour', async () => {
    const calls = Array.from({ length: 9 }, () => ({ events: [limited()] }));
    const { waits } = await run(calls, { plan: { maxIterations: 1 } });
    const ends = waits.map((wait) => Number(wait.slice('wait until '.length)));
    expect(ends.map((end, index) => end - (ends[index - 1] ?? 0))).toEqual([
      30_000, 60_000, 120_000, 240_000, 480_000, 960_000, 1_800_000, 1_800_000, 1_800_000,
    ]);
  });

  test('does not believe a limit that is over already', async () => {
    const calls = [{ events: [limited(1)], at: 5000 }, {}, {}];
    expect(await run(calls, { plan: { agents, maxIterations: 2 } })).toMatchObject({
      workers: ['first', 'second', 'second'],
    });
  });

  test('goes on with the one that is free first when all are at their limit', async () => {
    const calls = [{ events: [limited(9000)] }, { events: [limited(8000)] }, {}];
    const { workers, waits } = await run(calls, { plan: { agents, maxIterations: 1 } });

    expect(workers).toEqual(['first', 'second', 'second']);
    expect(waits).toEqual(['wait until 8400']);
  });

  test('stops when it would have to wait longer than it may, and keeps what was tried', async () => {
    const limits = { ...noLimits, maxWaitMs: 50_000 };
    const { stop, waits, diary } = await run([{ events: [limited(100_000)] }], { plan: { limits } });

    expect(stop).toMatchObject({ cause: 'max-wait', detail: expect.stringContaining('enough') });
    expect(waits).toEqual([]);
    expect(diary).toContain('save 1');
  });

  test('waits no longer than the run may take', async () => {
    const limits = { ...noLimits, untilMs: 7000 };
    const { stop, waits } = await run([{ events: [limited(100_000)] }], { plan: { limits } });

    expect(waits).toEqual(['wait until 7000']);
    expect(stop).toMatchObject({ cause: 'until' });
  });

  test('goes on waiting when it was interrupted in a wait, and stops when it is asked to', async () => {
    const standing = { cooldowns: new Map([['opencode', 3000]]) };
    expect((await run([], { standing, plan: { maxIterations: 1 } })).waits).toEqual(['wait until 3000']);
    expect(await run([], { standing, signalWhileWaiting: 'SIGINT' })).toMatchObject({
      reason: 'interrupted',
      iterations: [],
    });
  });
});
