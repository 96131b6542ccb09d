import { describe, expect, test } from 'vitest';
import type { IterationSummary } from '../../../src/web/api.ts';
import { chartCsv } from '../../../src/charts/csv.ts';
import { axisEnd, chartsOf, drawnValues } from '../../../src/charts/spec.ts';
import { chartSvg } from '../../../src/charts/svg.ts';
import { ticksOf } from '../../../src/charts/ticks.ts';

const colors = {
  background: '#fff',
  text: '#000',
  line: '#ccc',
  'chart-1': 'red',
  'chart-2': 'green',
  'chart-3': 'blue',
};

const iteration = (number: number, more: Partial<IterationSummary> = {}): IterationSummary => ({
  iteration: number,
  outcome: 'progress',
  startedAt: new Date(number * 60_000).toISOString(),
  durationMs: 30_000,
  agentMs: 20_000,
  gateMs: 9000,
  spoolMs: 1000,
  harness: 'opencode',
  model: null,
  filesChanged: number,
  insertions: 10 * number,
  deletions: 1,
  tasks: { done: number, total: 4 },
  ticked: [],
  usage: {
    inputTokens: 100,
    outputTokens: 10,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    reasoningTokens: null,
    costUsd: 0.5,
  },
  toolCalls: null,
  rejected: null,
  error: null,
  blocked: null,
  denied: null,
  gate: null,
  commit: null,
  checkpoint: null,
  deferred: 0,
  switched: null,
  handover: null,
  ...more,
});

const charts = (...iterations: IterationSummary[]) =>
  Object.fromEntries(chartsOf({ iterations, view: null }).map((spec) => [spec.name, spec]));

describe('charts', () => {
  test('cost and tokens are summed up, and unknown ones stay unknown', () => {
    const { cost } = charts(iteration(1, { usage: null }), iteration(2), iteration(3));
    expect(chartCsv(cost!)).toBe('Iteration,Cost,Tokens\r\n1,,\r\n2,0.5,110\r\n3,1,220\r\n');
  });

  test('costs on the axis have cents', () => {
    const { cost } = charts(iteration(1));
    expect([0, 0.2, 1, 1.5, 0.005, 0.25].map(cost!.left.tick)).toEqual([
      '$0',
      '$0.20',
      '$1',
      '$1.50',
      '$0.005',
      '$0.25',
    ]);
  });

  test('the parts of the time are stacked', () => {
    const { time } = charts(iteration(1));
    expect(drawnValues(time!)).toEqual([[20_000], [29_000], [30_000]]);
    expect(axisEnd(time!, 'left')).toBe(30_000);
  });

  test('older records have only the whole time', () => {
    const { time } = charts(iteration(1, { agentMs: null, gateMs: null, spoolMs: null }));
    expect(time!.series.map(({ values }) => values)).toEqual([[30_000], [null], [null]]);
  });

  test('a limit that is far away does not flatten the values', () => {
    const { tasks } = charts(iteration(1), iteration(2));
    expect(axisEnd(tasks!, 'left')).toBe(4);
    expect(axisEnd({ ...tasks!, limits: [{ label: '', value: 100, axis: 'left' }] }, 'left')).toBe(2);
  });

  test.each(['cost', 'time', 'tasks', 'files'])('%s as SVG has no invalid number, and names are text', (name) => {
    const subtitle = '001-01_<script>&"';
    for (const iterations of [
      [iteration(1)],
      [iteration(1), iteration(2), iteration(3)],
      [iteration(1, { usage: null, insertions: 0, tasks: { done: 0, total: 0 } })],
    ]) {
      const svg = chartSvg(charts(...iterations)[name]!, colors, subtitle);
      expect(svg).not.toMatch(/NaN|Infinity|undefined|null/);
      expect(svg).toContain('001-01_&lt;script&gt;&amp;&quot;');
      expect(svg).not.toContain('<script>');
    }
  });
});

test.each([
  [10, 5, {}, [0, 2, 4, 6, 8, 10]],
  [0.3, 3, {}, [0, 0.1, 0.2, 0.3]],
  [7, 5, { start: 2.5 }, [3, 4, 5, 6, 7]],
  [90_000, 4, { steps: [10_000, 30_000] }, [0, 30_000, 60_000, 90_000]],
])('ticks up to %d, about %d', (end, count, options, expected) => {
  expect(ticksOf(end, count, options)).toEqual(expected);
});
