import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAgentPool } from '../../../src/ralph/agent-pool.ts';
import { nextLadderStep, type LadderStep } from '../../../src/ralph/ladder.ts';
import type { AgentChoice } from '../../../src/ralph/plan.ts';
import type { GateReport, IterationRecord } from '../../../src/ralph/record.ts';
import { unreadContext } from '../../../src/ralph/unread-context.ts';
import { crash, recordWith } from './records.ts';

const agents: AgentChoice[] = ['small', 'medium', 'large'].map((model) => ({ harness: 'a', model }));
const gate = (passed: boolean): GateReport => ({
  passed,
  tampering: [],
  openTasks: [],
  runs: [{ command: 'npm test', outcome: passed ? 'passed' : 'failed', exitCode: 1, durationMs: 1, tail: '' }],
});
const noChanges = { ...recordWith().git!, filesChanged: 0 };

const outcomes = {
  failed: { error: crash },
  rejected: { rejected: 'tests failed', gate: gate(false) },
  'talked about the promise': { rejected: 'it was in the middle of a sentence' },
  'did not pass --verify-each': { gate: gate(false) },
  stalled: { git: noChanges },
  'rejected with a ticked task': { rejected: 'tests failed', ticked: ['a'] },
  worked: {},
  'worked without git': { git: null },
  interrupted: { end: 'interrupted', error: crash },
  'over the budget': { error: { kind: 'budget', message: 'too much' } },
  'did not read the context': { rejected: unreadContext },
  'ticked a task': { ticked: ['a'] },
  'ticked a task without other changes': { ticked: ['a', 'b'], git: noChanges },
  'passed --verify-each': { gate: gate(true) },
  'kept its promise': { completionFound: true, git: noChanges },
} satisfies Record<string, Partial<IterationRecord>>;

type Outcome = keyof typeof outcomes;

const after = (earlier: Outcome | null, last: Outcome, rungs: readonly [number, number] = [1, 1]) =>
  nextLadderStep(
    { ladder: true, agents },
    {
      earlier: earlier && recordWith({ iteration: 4, rung: rungs[0], ...outcomes[earlier] }),
      last: recordWith({ iteration: 5, rung: rungs[1], ...outcomes[last] }),
    },
  );

describe('two setbacks in a row', () => {
  test.each<[Outcome, Outcome, string]>([
    ['failed', 'failed', '2 iterations in a row failed'],
    ['rejected', 'rejected', '2 iterations in a row were rejected'],
    ['stalled', 'stalled', '2 iterations in a row changed nothing'],
    ['failed', 'rejected', 'iteration 4 failed and iteration 5 was rejected'],
    ['rejected', 'talked about the promise', '2 iterations in a row were rejected'],
    ['did not pass --verify-each', 'rejected with a ticked task', '2 iterations in a row were rejected'],
    ['stalled', 'failed', 'iteration 4 changed nothing and iteration 5 failed'],
  ])('%s, %s: the next rung', (earlier, last, why) => {
    expect(after(earlier, last)).toEqual({
      rung: 2,
      switched: { iteration: 6, from: 'a:small', to: 'a:medium', rung: 2, why },
    });
  });

  test.each<[Outcome | null, Outcome]>([
    [null, 'failed'],
    ['worked', 'failed'],
    ['failed', 'worked'],
    ['failed', 'worked without git'],
    ['failed', 'interrupted'],
    ['interrupted', 'failed'],
    ['failed', 'over the budget'],
    ['rejected', 'did not read the context'],
    ['ticked a task', 'failed'],
  ])('%s, %s: the same rung', (earlier, last) => {
    expect(after(earlier, last)).toEqual({ rung: 1, switched: null });
  });

  test('must be on the same rung', () => {
    expect(after('failed', 'failed', [1, 2])).toEqual({ rung: 2, switched: null });
    expect(after('failed', 'failed', [2, 2])).toMatchObject({ rung: 3, switched: { from: 'a:medium', to: 'a:large' } });
  });

  test('stay on the last rung', () => {
    expect(after('failed', 'failed', [3, 3])).toEqual({ rung: 3, switched: null });
  });
});

describe('progress', () => {
  test.each<[Outcome, string]>([
    ['ticked a task', 'iteration 5 completed a task'],
    ['ticked a task without other changes', 'iteration 5 completed 2 tasks'],
    ['passed --verify-each', 'iteration 5 passed the checks'],
    ['kept its promise', 'iteration 5 kept its promise'],
  ])('%s: back to the first rung', (last, why) => {
    expect(after('failed', last, [3, 3])).toEqual({
      rung: 1,
      switched: { iteration: 6, from: 'a:large', to: 'a:small', rung: 1, why },
    });
    expect(after('failed', last)).toEqual({ rung: 1, switched: null });
  });

  test.each<Outcome>(['worked', 'interrupted', 'rejected with a ticked task'])('%s: the same rung', (last) => {
    expect(after('worked', last, [2, 2])).toEqual({ rung: 2, switched: null });
  });
});

describe('a run', () => {
  test('starts with the first rung, and has no turns without a ladder', () => {
    expect(nextLadderStep({ ladder: true, agents }, { last: null, earlier: null })).toEqual({
      rung: 1,
      switched: null,
    });
    expect(nextLadderStep({ ladder: false, agents }, { last: recordWith(), earlier: null })).toBeNull();
  });

  test('that is resumed with another ladder starts where its agent is, or at the first rung', () => {
    const last = recordWith({ harness: 'a', model: 'medium' });
    expect(nextLadderStep({ ladder: true, agents }, { last, earlier: null })?.rung).toBe(2);
    expect(nextLadderStep({ ladder: true, agents }, { last: recordWith(), earlier: null })?.rung).toBe(1);
    expect(
      nextLadderStep({ ladder: true, agents: agents.slice(0, 2) }, { last: { ...last, rung: 3 }, earlier: null })?.rung,
    ).toBe(2);
  });

  test('never leaves the ladder, climbs one rung at a time, and each time after two iterations', () => {
    const names = Object.keys(outcomes) as Outcome[];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...names)), fc.integer({ min: 1, max: 3 }), (steps, rungs) => {
        const ladder = { ladder: true, agents: agents.slice(0, rungs) };
        let [last, earlier]: (IterationRecord | null)[] = [null, null];
        let sinceClimb = Infinity;
        for (const [index, outcome] of steps.entries()) {
          const step: LadderStep = nextLadderStep(ladder, { last: last ?? null, earlier: earlier ?? null })!;
          const before = last?.rung ?? 1;
          expect(step.rung).toBeGreaterThanOrEqual(1);
          expect(step.rung).toBeLessThanOrEqual(rungs);
          expect([1, before, before + 1]).toContain(step.rung);
          expect(step.switched !== null).toBe(step.rung !== before);
          if (step.rung > before) {
            expect(sinceClimb).toBeGreaterThanOrEqual(2);
            sinceClimb = 0;
          }
          sinceClimb++;
          [earlier, last] = [last, recordWith({ iteration: index + 1, rung: step.rung, ...outcomes[outcome] })];
        }
      }),
    );
  });
});

test('a rung that is not available is replaced by the ones above it, then by those below it', () => {
  const limited = recordWith({ error: { kind: 'rate-limit', message: 'slow down', resetsAtMs: 1000 } });
  const pool = createAgentPool({ agents, retryDelayMs: 0, random: () => 0 });
  const order = [];
  for (let count = 0; count < 3; count++) {
    const { agent } = pool.next(0, 2);
    order.push(agent.model);
    pool.recordAttempt(agent, limited, 0);
  }

  expect(order).toEqual(['medium', 'large', 'small']);
  expect(pool.next(0, 2)).toEqual({ agent: agents[1], freeAtMs: 1000 });
});
