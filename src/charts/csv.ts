import type { ChartSpec } from './spec.ts';

/** The values of a chart, one line for each value of its axis. */
export const chartCsv = ({ x, series }: ChartSpec): string =>
  [
    [x.label, ...series.map(({ label }) => label)],
    ...x.values.map((value, index) => [value, ...series.map(({ values }) => values[index] ?? '')]),
  ]
    .map((line) => `${line.join(',')}\r\n`)
    .join('');
