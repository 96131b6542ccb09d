import { readFileSync, writeFileSync } from 'node:fs';
import { changeOf } from '../../src/changes/sources.ts';
import { planRun } from '../../src/run/plan/plan.ts';
import { readLastRun } from '../../src/run/resume/last-run.ts';
import { resolveOptions } from '../../src/config/resolve.ts';
import { UserError } from '../../src/errors.ts';
import { lastRecords } from '../../src/store/history.ts';
import { overview } from '../../src/report/read-change-rows.ts';
import { loadRun } from '../../src/store/state.ts';
import { unknownUsage } from '../../src/ralph/agent-events.ts';
import { initialView } from '../../src/ralph/reduce-view.ts';
import { describeResult } from '../../src/ralph/prompt.ts';
import { addRecord, emptyTotals } from '../../src/ralph/totals.ts';
import { describeLastRun } from '../../src/report/last-run-text.ts';
import { renderRun } from '../../src/report/render-run.ts';
import { symbolsFor } from '../../src/report/symbols.ts';
import { recordWith } from '../unit/ralph/records.ts';
import { promise, says } from './agents.ts';
import { change, createProject, type TestProject } from './project.ts';

const run = ['ralph', '--change', change];
const interrupted = 'kill -INT $PPID; sleep 5';

/** Wrong values for any field. */
const wrong = [null, -1, 1e300, 'x', [null, 5, 'x'], { x: null }];

type Path = readonly (string | number)[];

/** Every path in a value, except its root. */
const placesIn = (value: unknown, path: Path = []): Path[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, inner]) => [[...path, key], ...placesIn(inner, [...path, key])]);

const withWrong = (whole: object, path: Path, value: unknown): unknown => {
  const copy = structuredClone(whole) as Record<string, unknown>;
  const parent = path.slice(0, -1).reduce((inner, key) => inner[key] as Record<string, unknown>, copy);
  parent[path.at(-1)!] = value;
  return copy;
};

const usage = { ...unknownUsage, inputTokens: 3, costUsd: 0.5 };
const { deferred: _, ...attempt } = recordWith({
  usage,
  error: { kind: 'rate-limit', message: 'enough', resetsAtMs: 5 },
});
const fullRecord = recordWith({
  usage,
  tools: { bash: 3 },
  error: { kind: 'crash', message: 'it broke' },
  mentions: [{ words: 'the promise', why: 'talk' }],
  gate: {
    passed: false,
    tampering: ['tasks.md was changed'],
    openTasks: ['one'],
    runs: [{ command: 'npm test', outcome: 'failed', exitCode: 1, durationMs: 5, tail: 'no' }],
  },
  tasks: { done: 1, total: 2 },
  repeated: { tool: 'bash', title: 'ls', times: 20 },
  deferred: [attempt],
});

/** A project after a run, with a state in which every field has a value. */
export const projectToDamage = async () => {
  const project = createProject({ agent: [says('one'), interrupted, promise] });
  await project.spool(...run, '--verify', 'true');
  const state = {
    ...project.state(),
    status: 'running',
    usage,
    currentUsage: usage,
    deferred: [attempt],
    deferredSinceMs: 5,
    waiting: { untilMs: 5, why: 'a limit' },
    cooldowns: { opencode: 5 },
    pending: { ...fullRecord, run: project.state().run, iteration: 3 },
    tasks: { done: 1, total: 2 },
    tasksDone: 1,
    cause: 'signal',
    detail: 'so',
    settings: { asked: ['verify'], file: { maxIterations: 5 } },
  };
  return { project, state, history: readFileSync(project.stateFile('history.jsonl'), 'utf8') };
};

const defaults = resolveOptions({ flagValues: {}, env: {}, project: null });

/** Everything that reads the state, including what a start does before it runs anything. */
const readAll = async ({ folder, env }: TestProject): Promise<void> => {
  const project = { root: folder };
  try {
    const { view } = await loadRun(project, change);
    const { records } = lastRecords(project, change, 10);
    const canvas = { style: (_: string, text: string) => text, columns: 80, symbols: symbolsFor({}) };
    for (const alive of [false, true])
      if (view) renderRun(view, { records, alive, table: true, now: new Date() }, canvas);
    describeLastRun((await overview(project, await changeOf(project, change), { env })).lastRun);
    const last = records.at(-1) ?? null;
    describeResult(last, records.reduce(addRecord, emptyTotals));
    const request = {
      ...(await defaults),
      fileSettings: {},
      project,
      target: await changeOf(project, change),
      env,
    };
    const { plan, previous } = planRun(request, await readLastRun(request));
    initialView(plan, { pid: 1, startedAt: '', at: '', previous: previous?.view ?? null });
  } catch (error) {
    // Errors of the user are allowed, such as an unknown version or a minimum above the maximum.
    if (!(error instanceof UserError)) throw error;
  }
};

/** Tries `values` of the wrong values at every path. Returns how often. */
const readsWith = async (
  project: TestProject,
  whole: object,
  { values, write }: { values: number; write: (damaged: string) => void },
): Promise<number> => {
  const places = placesIn(whole);
  for (const [index, path] of places.entries())
    for (let turn = 0; turn < values; turn++) {
      const value = wrong[(index + Math.floor((turn * wrong.length) / values)) % wrong.length];
      write(JSON.stringify(withWrong(whole, path, value)));
      await readAll(project).catch((error: unknown) => {
        throw new Error(`${path.join('.')} = ${JSON.stringify(value)}`, { cause: error });
      });
    }
  return places.length * values;
};

export const readsWrongState = async (values = wrong.length): Promise<number> => {
  const { project, state } = await projectToDamage();
  return readsWith(project, state, {
    values,
    write: (damaged) => writeFileSync(project.stateFile('state.json'), damaged),
  });
};

export const readsWrongHistory = async (values = wrong.length): Promise<number> => {
  const { project, state, history } = await projectToDamage();
  const record = { ...fullRecord, run: state.run, iteration: 2 };
  const write = (damaged: string) =>
    writeFileSync(project.stateFile('history.jsonl'), `${history.split('\n')[0]}\n${damaged}\n`);
  let times = 0;
  for (const whole of [true, false]) {
    writeFileSync(project.stateFile('state.json'), whole ? JSON.stringify(state) : 'damaged');
    times += await readsWith(project, record, { values, write });
  }
  return times;
};
