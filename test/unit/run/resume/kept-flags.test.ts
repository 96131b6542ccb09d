import { beforeAll, describe, expect, test } from 'vitest';
import type { Change } from '../../../../src/changes/source.ts';
import type { Options } from '../../../../src/config/flags.ts';
import { type FlagsKept, flagsKept } from '../../../../src/config/kept.ts';
import { resolveOptions } from '../../../../src/config/resolve.ts';
import type { RunPlan } from '../../../../src/ralph/plan.ts';
import { viewOfRecords } from '../../../../src/ralph/rebuild.ts';
import { initialView } from '../../../../src/ralph/reduce-view.ts';
import type { RunView } from '../../../../src/ralph/view.ts';
import { createPlan } from '../../../../src/run/plan/create-plan.ts';
import { keptSettings } from '../../../../src/run/resume/kept-settings.ts';
import { valuesToRecord } from '../../../../src/run/resume/recorded-settings.ts';
import { parseView } from '../../../../src/store/formats.ts';
import { isSameStart } from '../../../../src/store/user-state/identity.ts';
import { recordWith } from '../../ralph/records.ts';

/** A value of each flag that differs from its default, with what it needs to have an effect. */
const inPlan: { readonly [Name in FlagsKept<'plan'>]: Pick<Options, Name> & Partial<Options> } = {
  harness: { harness: 'claude,codex' },
  model: { model: 'some-model' },
  escalate: { escalate: 'claude:haiku,claude:opus', harness: 'claude:haiku,claude:opus' },
  handover: { handover: false },
  completionPromise: { completionPromise: 'ALL DONE' },
  blockedPromise: { blockedPromise: 'GIVING UP' },
  minIterations: { minIterations: 2 },
  maxIterations: { maxIterations: 7 },
  maxDuration: { maxDuration: 3_600_000 },
  until: { until: '07:30' },
  maxCost: { maxCost: 5 },
  maxTokens: { maxTokens: 1000 },
  iterationTimeout: { iterationTimeout: 60_000 },
  idleTimeout: { idleTimeout: 30_000 },
  maxFailures: { maxFailures: 3 },
  maxStalled: { maxStalled: 4 },
  maxWait: { maxWait: 120_000 },
  verify: { verify: ['npm test'] },
  verifyEach: { verifyEach: true },
  requireTasks: { requireTasks: true },
  requireScenarios: { requireScenarios: true },
  redFirst: { redFirst: true },
  report: { report: ['reports/*.xml'] },
  review: { review: 'codex:some-model' },
  maxReviews: { maxReviews: 5, review: 'codex' },
  reviewPrompt: { reviewPrompt: 'Look at the tests.', review: 'codex' },
  failFast: { failFast: true },
  commit: { commit: false },
};

const recorded: Pick<Options, FlagsKept<'recorded'>> = {
  notify: ['desktop'],
  notifyOn: ['complete'],
  commitMessage: 'work on {change}',
  verifyTimeout: 1000,
  retryDelay: 2000,
  worktreeSetup: 'npm ci',
  stopGrace: 3000,
  agentMode: 'standby',
  deny: ['Bash(git push:*)'],
};

let defaults: Options;
beforeAll(async () => {
  defaults = (await resolveOptions({ flagValues: {}, env: {}, project: null })).options;
});

const target = { id: '001-01_x', source: 'spool', module: '001' } as Change;

const planWith = (options: Partial<Options>, resumed?: RunView): RunPlan =>
  createPlan({ target, options: { ...defaults, ...options }, explicit: new Set() }, resumed);

const run = '20260102-030405-9f3a';
const at = '2026-01-02T03:04:05.000Z';

/** The view as another process reads it from state.json. */
const savedView = (plan: RunPlan, settings: RunView['settings'] = null): RunView =>
  parseView(JSON.parse(JSON.stringify(initialView({ ...plan, run }, { pid: 1, startedAt: at, at, settings }))))!;

/** Without what is new in every plan. */
const settingsOf = (plan: RunPlan) => ({ ...plan, run: null });

describe.each(Object.entries(inPlan))('--resume keeps %s', (name, options) => {
  test('in an interrupted run', () => {
    const plan = planWith(options);
    const before = planWith({ ...options, [name]: defaults[name as keyof Options] });
    expect(settingsOf(plan), 'the value changes the plan').not.toEqual(settingsOf(before));
    expect(settingsOf(planWith({}, savedView(plan)))).toEqual(settingsOf(plan));
  });

  test('in a new run with the settings of the last one', () => {
    const plan = planWith(options);
    expect(settingsOf(planWith(keptSettings(savedView(plan))))).toEqual(settingsOf(plan));
  });

  test('and notices that state.json was edited', () => {
    const rest = { ...options, [name]: defaults[name as keyof Options] };
    expect(isSameStart(savedView(planWith(options)), savedView(planWith(rest)))).toBe(false);
  });
});

test.each(flagsKept('once on'))('--resume keeps %s on', (name) => {
  const plan = planWith({ [name]: true });
  expect(plan).toMatchObject({ [name]: true });
  expect(planWith({ [name]: false }, savedView(plan))).toMatchObject({ [name]: true });
});

test('--resume keeps what is recorded because it was set explicitly', () => {
  const given = valuesToRecord({ ...defaults, ...recorded }, new Set(flagsKept('recorded')));
  const view = savedView(planWith({}), { explicit: flagsKept('recorded'), file: {}, given });
  expect(keptSettings(view)).toMatchObject(recorded);
});

test('a view that is rebuilt from the records alone has every field of a plan', () => {
  const rebuilt = parseView(JSON.parse(JSON.stringify(viewOfRecords('001-01_x', [recordWith({ run })]))));
  expect(planWith({}, rebuilt)).toMatchObject({ run, agents: [{ harness: 'opencode', model: null }] });
});
