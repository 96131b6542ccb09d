import type { Usage } from '../ralph/agent-events.ts';
import type { TaskCount } from '../ralph/record.ts';
import { addUsage, grouped, tokensOf } from '../ralph/usage.ts';
import type { RunView } from '../ralph/view.ts';
import { duration } from '../text/duration.ts';
import { shortNumber } from '../text/short-number.ts';

/** The name of a color of the theme. */
type ChartTone = 'chart-1' | 'chart-2' | 'chart-3';

interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly tone: ChartTone;
  readonly kind: 'line' | 'step' | 'bar' | 'points';
  readonly side: 'left' | 'right';
}

/** A line for a limit, or for what is to be reached. */
export interface Limit {
  readonly label: string;
  readonly value: number;
  readonly axis: 'x' | 'left' | 'right';
}

export interface Axis {
  readonly label: string;
  /** Short, beside the axis. */
  readonly tick: (value: number) => string;
  /** Exact. */
  readonly text: (value: number) => string;
  /** Distances of ticks that are easy to read; those of numbers if it is missing. */
  readonly steps?: readonly number[];
}

/** A chart as data: drawn on the page, saved as SVG, PNG or CSV, and read as a table. */
export interface ChartSpec {
  /** Of saved files. */
  readonly name: string;
  readonly title: string;
  readonly x: Axis & { readonly values: readonly number[] };
  readonly left: Axis;
  readonly right: Axis | null;
  readonly series: readonly Series[];
  /** The series are parts of a whole, on top of each other. */
  readonly isStacked: boolean;
  readonly limits: readonly Limit[];
}

/** What charts need of an iteration. Unknown values are null. */
export interface ChartedIteration {
  readonly iteration: number;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly agentMs: number | null;
  readonly gateMs: number | null;
  readonly spoolMs: number | null;
  readonly filesChanged: number | null;
  readonly insertions: number | null;
  readonly deletions: number | null;
  readonly tasks: TaskCount | null;
  /** Titles of the tasks that were completed. */
  readonly ticked: readonly string[];
  readonly usage: Usage | null;
}

export interface ChartSource {
  readonly iterations: readonly ChartedIteration[];
  readonly view: Pick<RunView, 'limits' | 'startedAt'> | null;
}

const whole: Pick<Axis, 'tick' | 'text'> = {
  tick: (value) => (Number.isInteger(value) ? shortNumber(value) : ''),
  text: grouped,
};
const [second, minute, hour] = [1000, 60_000, 3_600_000];
const times: Omit<Axis, 'label'> = {
  tick: (ms) => (ms === 0 ? '0' : duration(ms)),
  text: duration,
  steps: [0.1, 0.2, 0.5, 1, 2, 5, 10, 30]
    .map((count) => count * second)
    .concat(
      [1, 2, 5, 10, 30].map((count) => count * minute),
      [1, 2, 4, 8, 12, 24, 48, 96].map((count) => count * hour),
    ),
};
const money: Pick<Axis, 'tick' | 'text'> = {
  // `$0.20`, not `$0.2`.
  tick: (value) => `$${Number(value.toPrecision(3))}`.replace(/\.\d$/, '$&0'),
  text: (value) => `$${Number(value.toFixed(6))}`,
};

export const chartsOf = (source: ChartSource): readonly ChartSpec[] => [
  costChart(source),
  timeChart(source),
  taskChart(source),
  fileChart(source),
];

const numbersOf = (iterations: readonly ChartedIteration[]): ChartSpec['x'] => ({
  label: 'Iteration',
  tick: whole.tick,
  text: (value) => `Iteration ${value}`,
  values: iterations.map(({ iteration }) => iteration),
});

const costChart = ({ iterations, view }: ChartSource): ChartSpec => {
  let sum: Usage | null = null;
  const sums = iterations.map(({ usage }) => (sum = addUsage(sum, usage)));
  const maxCost = view?.limits.maxCostUsd ?? null;
  const maxTokens = view?.limits.maxTokens ?? null;
  return {
    name: 'cost',
    title: 'Cost and tokens, in total',
    x: numbersOf(iterations),
    left: { label: 'Cost', ...money },
    right: { label: 'Tokens', ...whole },
    series: [
      {
        label: 'Cost',
        values: sums.map((usage) => usage?.costUsd ?? null),
        tone: 'chart-1',
        kind: 'line',
        side: 'left',
      },
      { label: 'Tokens', values: sums.map(tokensOf), tone: 'chart-2', kind: 'line', side: 'right' },
    ],
    isStacked: false,
    limits: [
      ...(maxCost === null ? [] : [{ label: `Limit ${money.text(maxCost)}`, value: maxCost, axis: 'left' as const }]),
      ...(maxTokens === null
        ? []
        : [{ label: `Limit ${grouped(maxTokens)} tokens`, value: maxTokens, axis: 'right' as const }]),
    ],
  };
};

const timeChart = ({ iterations }: ChartSource): ChartSpec => {
  const bar = { kind: 'bar', side: 'left' } as const;
  return {
    name: 'time',
    title: 'Time per iteration',
    x: numbersOf(iterations),
    left: { label: 'Time', ...times },
    right: null,
    series: [
      {
        label: 'Agent',
        values: iterations.map(({ agentMs, durationMs }) => agentMs ?? durationMs),
        tone: 'chart-1',
        ...bar,
      },
      { label: 'Gate', values: iterations.map(({ gateMs }) => gateMs), tone: 'chart-2', ...bar },
      { label: 'Spool', values: iterations.map(({ spoolMs }) => spoolMs), tone: 'chart-3', ...bar },
    ],
    isStacked: true,
    limits: [],
  };
};

const taskChart = ({ iterations, view }: ChartSource): ChartSpec => {
  const counted = iterations.filter(({ tasks }) => tasks !== null);
  const before = tasksBefore(counted[0]);
  const start = Date.parse(view?.startedAt ?? iterations[0]?.startedAt ?? '');
  const total = counted.at(-1)?.tasks?.total ?? 0;
  const { maxDurationMs = null, untilMs = null } = view?.limits ?? {};
  return {
    name: 'tasks',
    title: 'Tasks done over time',
    x: {
      label: 'Time since the start',
      ...times,
      values: [
        ...(before === null ? [] : [0]),
        ...counted.map(({ startedAt, durationMs }) => Math.max(0, Date.parse(startedAt) + durationMs - start)),
      ],
    },
    left: { label: 'Tasks', ...whole },
    right: null,
    series: [
      {
        label: 'Tasks done',
        values: [...(before === null ? [] : [before]), ...counted.map(({ tasks }) => tasks?.done ?? null)],
        tone: 'chart-1',
        kind: 'step',
        side: 'left',
      },
    ],
    isStacked: false,
    limits: [
      ...(total === 0 ? [] : [{ label: `All ${total} tasks`, value: total, axis: 'left' as const }]),
      ...(maxDurationMs === null
        ? []
        : [{ label: `Limit ${duration(maxDurationMs)}`, value: maxDurationMs, axis: 'x' as const }]),
      ...(untilMs === null || Number.isNaN(start)
        ? []
        : [{ label: 'Until', value: untilMs - start, axis: 'x' as const }]),
    ],
  };
};

/** How many tasks were done at the start; null if the first iterations are not known. */
const tasksBefore = (first: ChartedIteration | undefined): number | null =>
  first?.iteration === 1 && first.tasks !== null ? Math.max(0, first.tasks.done - first.ticked.length) : null;

const fileChart = ({ iterations }: ChartSource): ChartSpec => ({
  name: 'files',
  title: 'Files and lines per iteration',
  x: numbersOf(iterations),
  left: { label: 'Lines', ...whole },
  right: { label: 'Files', ...whole },
  series: [
    {
      label: 'Lines added',
      values: iterations.map(({ insertions }) => insertions),
      tone: 'chart-1',
      kind: 'bar',
      side: 'left',
    },
    {
      label: 'Lines deleted',
      values: iterations.map(({ deletions }) => deletions),
      tone: 'chart-2',
      kind: 'bar',
      side: 'left',
    },
    {
      label: 'Files',
      values: iterations.map(({ filesChanged }) => filesChanged),
      tone: 'chart-3',
      kind: 'points',
      side: 'right',
    },
  ],
  isStacked: false,
  limits: [],
});

/** The values as they are drawn: of a stack, each series reaches from the bottom to its own top. */
export const drawnValues = ({ series, isStacked }: ChartSpec): readonly (readonly (number | null)[])[] => {
  if (!isStacked) return series.map(({ values }) => values);
  let sums: readonly number[] = [];
  return series.map(({ values }) => (sums = values.map((value, index) => (sums[index] ?? 0) + (value ?? 0))));
};

/** The end of an axis: the greatest value, or a limit that is not far beyond it. */
export const axisEnd = (spec: ChartSpec, axis: Limit['axis']): number => {
  const drawn = drawnValues(spec);
  const values = axis === 'x' ? spec.x.values : drawn.filter((_, index) => spec.series[index]?.side === axis).flat();
  const highest = values.reduce<number>((max, value) => Math.max(max, value ?? 0), 0);
  const limits = spec.limits.filter((limit) => limit.axis === axis && limit.value <= 2.5 * highest);
  return Math.max(highest, ...limits.map(({ value }) => value)) || 1;
};
