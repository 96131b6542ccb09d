import { describe, expect, test } from 'vitest';
import { type AgentEvent, type TurnEnd, unknownUsage } from '../../../src/ralph/agent-events.ts';
import { type GateReport, type IterationRecord } from '../../../src/ralph/record.ts';
import { type RunEvent, type Stop } from '../../../src/ralph/events.ts';
import { type RunPlan } from '../../../src/ralph/plan.ts';
import { runLoop, type LoopState } from '../../../src/ralph/loop.ts';
import type { LoopHost } from '../../../src/ralph/loop-host.ts';
import { initialView, reduceView } from '../../../src/ralph/reduce-view.ts';
import { iterationUsage, totalUsage } from '../../../src/ralph/usage.ts';
import type { RunTotals } from '../../../src/ralph/totals.ts';
import { noGate, noLimits, planWith, recordWith } from './records.ts';

const plan = planWith({ run: 'run', change: '001-01_x', module: '001', maxIterations: 5 });

const exited = (exitCode: number): TurnEnd => ({ end: 'exited', exitCode, signal: null, problem: null });
const says = (text: string): AgentEvent => ({ type: 'text', text, plain: false });

interface Call {
  readonly events?: readonly AgentEvent[];
  readonly ended?: TurnEnd;
  /** The time at which the agent ends, in milliseconds. */
  readonly at?: number;
  /** The signal received before the agent ends. */
  readonly signal?: string;
  readonly gate?: (promised: boolean) => GateReport | null;
}

/** Runs the loop with a host that records all calls. The n-th agent call follows the n-th entry. */
const run = async (
  calls: readonly Call[],
  changes: {
    plan?: Partial<RunPlan>;
    state?: Partial<LoopState>;
    totals?: Partial<RunTotals>;
    signalWhileWaiting?: string;
    /** A pause that is requested during the n-th agent call, and what ends it. */
    pause?: { after: number; ends: 'by a resume' | 'by a limit' | 'by a stop' };
    /** Identifies the context after n agent calls have started. */
    context?: (calls: number) => string | null;
    /** The result of a gate that was interrupted before. */
    resumedGate?: GateReport;
    notAdmitted?: (calls: number) => Stop | null;
  } = {},
) => {
  const diary: string[] = [];
  const events: RunEvent[] = [];
  const workers: string[] = [];
  let time = 0;
  let signal: string | null = null;
  let clockMs = 0;
  let number = 0;
  let isResumed = false;
  const iterations: number[] = [];
  const whole = { ...plan, ...changes.plan };
  const facts = { pid: 1, startedAt: '', at: new Date(0).toISOString() };
  let view = { ...initialView(whole, facts), ...changes.totals };
  const host: LoopHost = {
    totals: () => view,
    now: () => new Date(time),
    monotonicMs: () => (clockMs += 10),
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
    gate: async (iteration, { completionFound }, isGateResumed) =>
      isGateResumed ? (changes.resumedGate ?? null) : (calls[number - 1]?.gate?.(completionFound) ?? null),
    tasks: async () => null,
    addProofToCommit: async (record) => record,
    boundRecord: (record) => record,
    prompt: async (iteration, last) => ({
      text: `prompt ${iteration} after ${last?.iteration ?? 'nothing'}`,
      contextId: changes.context?.(number) ?? null,
    }),
    contextId: () => changes.context?.(number) ?? null,
    isPauseRequested: () => changes.pause?.after === number && !isResumed,
    waitForResume: async (ms) => {
      diary.push(`wait for resume until ${ms}`);
      if (changes.pause?.ends === 'by a limit') time = ms;
      else if (changes.pause?.ends === 'by a stop') signal = 'request';
      else isResumed = true;
    },
    endAgents: async () => {
      diary.push('agents ended');
    },
    trackWork: async () => async () => ({ git: null, commit: null, commitProblem: null, checkpoint: null }),
    uncommitted: async () => [],
    isChangeDeleted: async () => false,
    changed: async () => null,
    completedTasks: async () => [],
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
    admit: async () => changes.notAdmitted?.(number) ?? null,
    publish: async () => {},
    emit: (event) => {
      view = reduceView(view, event);
      events.push(event);
      if (event.type !== 'agent') diary.push(event.type);
    },
  };
  const state = { last: null, earlier: null, cooldowns: new Map(), pending: null, ...changes.state };
  const reason = await runLoop(whole, state, host);
  const waits = diary.filter((entry) => entry.startsWith('wait '));
  const stop = events.find((event) => event.type === 'run-ended');
  return { reason, diary, events, workers, iterations, waits, stop, totals: host.totals() };
};

const verified: Partial<RunPlan> = { gate: { ...noGate, verify: ['npm test'] } };
const gateWith = (outcome: GateReport['runs'][number]['outcome']): GateReport => ({
  passed: outcome === 'passed',
  tampering: [],
  openTasks: [],
  runs: [{ command: 'npm test', outcome, exitCode: 0, durationMs: 1, tail: '' }],
});
const promised = [says('<promise>COMPLETE</promise>')];

describe('a pause', () => {
  const ends = (how: 'by a resume' | 'by a limit' | 'by a stop', limits: Partial<RunPlan['limits']> = {}) =>
    run([{}, { events: promised }], {
      plan: { limits: { ...plan.limits, ...limits } },
      pause: { after: 1, ends: how },
    });

  test('waits before the next iteration until it is lifted', async () => {
    const { reason, diary, iterations } = await ends('by a resume');

    expect(reason).toBe('complete');
    expect(iterations).toEqual([1, 2]);
    expect(diary.slice(4, 8)).toEqual(['paused', 'wait for resume until Infinity', 'resumed', 'iteration-started']);
  });

  test.each([
    ['--until', { untilMs: 5000 }],
    ['--max-duration', { maxDurationMs: 5000 }],
  ])('ends at %s', async (_, limits) => {
    const { reason, diary, iterations } = await ends('by a limit', limits);

    expect(reason).toBe('limit');
    expect(iterations).toEqual([1]);
    expect(diary.slice(4)).toEqual(['paused', 'wait for resume until 5000', 'run-ended']);
  });

  test('ends with a stop', async () => {
    const { reason, diary } = await ends('by a stop');

    expect(reason).toBe('interrupted');
    expect(diary).not.toContain('resumed');
  });
});

describe('context that is added during an iteration', () => {
  const added = (calls: number) => (calls === 0 ? null : 'added');

  test('leads to one more iteration after a promise', async () => {
    const { reason, events } = await run([{ events: promised }, { events: promised }], { context: added });

    expect(reason).toBe('complete');
    expect(events.flatMap((event) => (event.type === 'iteration-finished' ? [event.record.rejected] : []))).toEqual([
      'context was added after the iteration started',
      null,
    ]);
  });

  test('is the reason of a limit that it reaches', async () => {
    const { stop } = await run([{ events: promised }], { context: added, plan: { maxIterations: 1 } });

    expect(stop).toMatchObject({ cause: 'max-iterations', detail: expect.stringContaining(': context was added') });
  });

  test('changes nothing after an iteration without a promise, or when it was cleared', async () => {
    const { iterations } = await run([{}, { events: promised }], { context: added });
    const cleared = await run([{ events: promised }], { context: (calls) => (calls === 0 ? 'before' : null) });

    expect(iterations).toEqual([1, 2]);
    expect(cleared.iterations).toEqual([1]);
  });
});

describe('a gate with commands', () => {
  test('starts after the iteration is saved as pending', async () => {
    const { reason, diary } = await run([{ events: promised, gate: () => gateWith('passed') }], { plan: verified });

    expect(reason).toBe('complete');
    expect(diary.slice(2)).toEqual(['agents ended', 'iteration-pending', 'save 1', 'iteration-finished', 'run-ended']);
  });

  test('leaves the iteration pending and unrecorded if it is interrupted', async () => {
    const interrupted = { events: promised, signal: 'SIGINT', gate: () => gateWith('interrupted') };
    const { reason, diary, stop } = await run([interrupted], { plan: verified });

    expect(reason).toBe('interrupted');
    expect(diary.slice(2)).toEqual(['agents ended', 'iteration-pending', 'run-ended']);
    expect(stop).toMatchObject({ cause: 'signal', detail: expect.stringContaining('the checks of iteration 1') });
  });

  test('is all that runs for a pending iteration, before any limit', async () => {
    const pending = recordWith({ iteration: 1, completionFound: true });
    const { reason, diary, events } = await run([], {
      plan: { ...verified, maxIterations: 1 },
      state: { pending },
      resumedGate: gateWith('passed'),
    });

    expect(reason).toBe('complete');
    expect(diary).toEqual(['save 1', 'iteration-finished', 'run-ended']);
    expect(events[0]).toMatchObject({ record: { ...pending, gate: { passed: true } } });
  });

  test('can reject a pending iteration, and the next one follows', async () => {
    const pending = recordWith({ iteration: 1, completionFound: true });
    const { iterations, diary } = await run([{ events: promised }], {
      plan: verified,
      state: { pending },
      resumedGate: gateWith('failed'),
    });

    expect(iterations).toEqual([2]);
    expect(diary).toContain('prompt 2 after 1');
    expect(diary.filter((entry) => entry.startsWith('save'))).toEqual(['save 1', 'save 2']);
  });
});

describe('the loop', () => {
  test('continues until the promise, and saves each record before announcing it', async () => {
    const { reason, diary } = await run([{}, { events: [says('<promise>COMPLETE</promise>')] }]);

    expect(reason).toBe('complete');
    const first = ['iteration-started', 'prompt 1 after nothing', 'save 1', 'iteration-finished'];
    const second = ['iteration-started', 'prompt 2 after 1', 'agents ended', 'save 2', 'iteration-finished'];
    expect(diary).toEqual([...first, ...second, 'run-ended']);
  });

  test('waits longer after each failure in a row, and resets after a success', async () => {
    const failing = { ended: exited(1) };
    const { reason, diary } = await run([failing, failing, {}, failing, failing]);

    expect(reason).toBe('limit');
    expect(diary.filter((entry) => entry.startsWith('wait '))).toEqual(['wait 1000', 'wait 2000', 'wait 1000']);
  });

  test('stops on a signal while an agent runs, and counts its promise', async () => {
    expect(await run([{ signal: 'SIGINT' }])).toMatchObject({ reason: 'interrupted' });
    const promised = [says('<promise>COMPLETE</promise>')];
    expect(await run([{ signal: 'SIGINT', events: promised }])).toMatchObject({ reason: 'complete' });
  });

  test('stops on a signal while it waits', async () => {
    const { reason, diary } = await run([{ ended: exited(1) }], { signalWhileWaiting: 'SIGTERM' });

    expect(reason).toBe('interrupted');
    expect(diary.at(-2)).toBe('wait 1000');
  });

  test('measures an iteration with a monotonic clock, and emits all events', async () => {
    const { events } = await run([{ events: [says('a'), says('b')] }], { plan: { maxIterations: 1 } });

    expect(events.filter((event) => event.type === 'agent').map((event) => event.event)).toEqual([
      says('a'),
      says('b'),
    ]);
    expect(events.find((event) => event.type === 'iteration-finished')).toMatchObject({
      record: { durationMs: 20, phases: { agentMs: 10, gateMs: 10, spoolMs: 20 } },
    });
    expect(events.at(-1)).toMatchObject({ type: 'run-ended', reason: 'limit', notes: ['released after limit'] });
  });

  test('continues with the next number after previous iterations', async () => {
    const { diary } = await run([], { plan: { maxIterations: 4 }, totals: { finishedIterations: 3 } });

    expect(diary).toContain('save 4');
    expect(diary.filter((entry) => entry.startsWith('save'))).toHaveLength(1);
  });

  test('ends before it starts if a limit is already reached', async () => {
    const usage = { ...unknownUsage, costUsd: 5 };
    const limits = { ...noLimits, maxCostUsd: 5 };
    const { stop, iterations } = await run([], { plan: { limits }, totals: { usage } });

    expect(stop).toMatchObject({ cause: 'max-cost', reason: 'limit' });
    expect(iterations).toEqual([]);
  });

  test('terminates an agent that exceeds the budget, including earlier costs', async () => {
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

  test('stops if the agent gives up', async () => {
    const { reason, stop } = await run([{ events: [says('<promise>BLOCKED</promise>\nNo key.')] }]);
    expect({ reason, detail: stop?.detail }).toEqual({ reason: 'blocked', detail: 'the agent gave up: No key.' });
  });

  const gateReport = (passed: boolean): GateReport => ({
    passed,
    tampering: passed ? [] : ['x was changed'],
    openTasks: [],
    runs: [],
  });

  test('does not count a promise that the gate rejects, and accepts a later one', async () => {
    const promised = [says('<promise>COMPLETE</promise>')];
    const { events, reason } = await run([
      { events: promised, gate: () => gateReport(false) },
      { events: promised, gate: () => gateReport(true) },
    ]);

    expect(reason).toBe('complete');
    const records = events.flatMap((event) => (event.type === 'iteration-finished' ? [event.record] : []));
    expect(records).toMatchObject([
      { completionFound: false, evidence: null, rejected: 'x was changed' },
      { completionFound: true, rejected: null },
    ] satisfies Partial<IterationRecord>[]);
  });

  test('passes to the gate whether there was a promise', async () => {
    const received: boolean[] = [];
    const gate = (promised: boolean) => {
      received.push(promised);
      return null;
    };
    await run([{ gate }, { events: [says('<promise>COMPLETE</promise>')], gate }]);
    expect(received).toEqual([false, true]);
  });
});

describe('an agent that is not available', () => {
  const agents = ['first', 'second'].map((harness) => ({ harness, model: null }));
  const limited = (resetsAtMs?: number): AgentEvent => ({
    type: 'error',
    kind: 'rate-limit',
    message: 'enough',
    ...(resetsAtMs === undefined ? {} : { resetsAtMs }),
  });
  const lost = { ended: { end: 'not-started', exitCode: null, signal: null, problem: 'gone' } } as const;

  test('is replaced by the next one without waiting or counting, and used again after its limit resets', async () => {
    const calls = [{ events: [limited(5000)] }, { at: 4000 }, { at: 6000 }, {}];
    const { workers, waits, iterations } = await run(calls, { plan: { agents, maxIterations: 3 } });

    expect(workers).toEqual(['first', 'second', 'second', 'first']);
    expect(iterations).toEqual([1, 1, 2, 3]);
    expect(waits).toEqual([]);
  });

  test('is replaced if it cannot start, and the loop fails if none can', async () => {
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

  test('is not a failure if it is not signed in and another one waits for its limit', async () => {
    const calls = [{ events: [limited(100_000)] }, { events: [signedOut] }, {}];
    const { workers, waits, reason } = await run(calls, { plan: { agents, maxIterations: 1, failFast: true } });

    expect(workers).toEqual(['first', 'second', 'first']);
    expect(waits).toEqual(['wait until 105000']);
    expect(reason).toBe('limit');
  });

  test('is a failure if no agent is signed in', async () => {
    const calls = [{ events: [signedOut] }, { events: [signedOut] }];
    expect(await run(calls, { plan: { agents, failFast: true } })).toMatchObject({
      reason: 'failed',
      iterations: [1, 1],
    });
  });

  test('is replaced by another model of the same agent', async () => {
    const models = ['one', 'two'].map((model) => ({ harness: 'claude', model }));
    const { waits, events } = await run([{ events: [limited(100_000)] }, {}], {
      plan: { agents: models, maxIterations: 1 },
    });

    expect(waits).toEqual([]);
    expect(events.findLast((event) => event.type === 'iteration-started')).toMatchObject({ agent: { model: 'two' } });
  });

  test('is waited for until its limit resets, with a margin, and the same iteration is repeated', async () => {
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

  test.each([
    ['that finishes', 25, null],
    ['of which only attempts are left', 26, { cause: 'max-cost', detail: 'the budget is spent' } as const],
  ])('costs what its attempts have used, however many there are, in an iteration %s', async (_, attempts, stop) => {
    const used = { ...unknownUsage, type: 'usage', costUsd: 1 } as const;
    const calls = Array.from({ length: attempts }, () => ({ events: [used, limited()] }));
    const { events, totals } = await run([...calls, { events: [used] }], {
      plan: { maxIterations: 1 },
      notAdmitted: (called) => (called === attempts ? stop : null),
    });

    const records = events.flatMap((event) => (event.type === 'iteration-finished' ? [event.record] : []));
    expect(records).toMatchObject([{ usageLeftOut: { costUsd: attempts - 20 } }]);
    expect(iterationUsage(records[0]!)).toMatchObject({ costUsd: 26 });
    expect(totalUsage(totals)).toEqual(iterationUsage(records[0]!));
  });

  test('is waited for longer each time without a reset time, up to half an hour', async () => {
    const calls = Array.from({ length: 9 }, () => ({ events: [limited()] }));
    const { waits } = await run(calls, { plan: { maxIterations: 1 } });
    const ends = waits.map((wait) => Number(wait.slice('wait until '.length)));
    expect(ends.map((end, index) => end - (ends[index - 1] ?? 0))).toEqual([
      30_000, 60_000, 120_000, 240_000, 480_000, 960_000, 1_800_000, 1_800_000, 1_800_000,
    ]);
  });

  test('is not used again at once if its reset time is in the past', async () => {
    const calls = [{ events: [limited(1)], at: 5000 }, {}, {}];
    expect(await run(calls, { plan: { agents, maxIterations: 2 } })).toMatchObject({
      workers: ['first', 'second', 'second'],
    });
  });

  test('is waited for if all are at their limit, the first one to reset', async () => {
    const calls = [{ events: [limited(9000)] }, { events: [limited(8000)] }, {}];
    const { workers, waits } = await run(calls, { plan: { agents, maxIterations: 1 } });

    expect(workers).toEqual(['first', 'second', 'second']);
    expect(waits).toEqual(['wait until 8400']);
  });

  test('ends the loop if the wait would be too long, and the attempt is recorded', async () => {
    const limits = { ...noLimits, maxWaitMs: 50_000 };
    const { stop, waits, diary } = await run([{ events: [limited(100_000)] }], { plan: { limits } });

    expect(stop).toMatchObject({ cause: 'max-wait', detail: expect.stringContaining('enough') });
    expect(waits).toEqual([]);
    expect(diary).toContain('save 1');
  });

  test('is not waited for beyond the limits of the run', async () => {
    const limits = { ...noLimits, untilMs: 7000 };
    const { stop, waits } = await run([{ events: [limited(100_000)] }], { plan: { limits } });

    expect(waits).toEqual(['wait until 7000']);
    expect(stop).toMatchObject({ cause: 'until' });
  });

  test('is waited for again after an interruption, until a signal', async () => {
    const state = { cooldowns: new Map([['opencode', 3000]]) };
    expect((await run([], { state, plan: { maxIterations: 1 } })).waits).toEqual(['wait until 3000']);
    expect(await run([], { state, signalWhileWaiting: 'SIGINT' })).toMatchObject({
      reason: 'interrupted',
      iterations: [],
    });
  });
});
