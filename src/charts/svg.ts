import { escapeHtml } from '../text/html.ts';
import { axisEnd, type ChartSpec, drawnValues, type Limit } from './spec.ts';
import { ticksOf } from './ticks.ts';

export interface Colors {
  readonly background: string;
  readonly text: string;
  readonly line: string;
  readonly 'chart-1': string;
  readonly 'chart-2': string;
  readonly 'chart-3': string;
}

const [width, height] = [960, 420];
const box = { left: 70, right: 890, top: 66, bottom: 370 };

/** The chart as a standalone picture, without styles or scripts. */
export const chartSvg = (spec: ChartSpec, colors: Colors, subtitle: string): string => {
  const drawing: Drawing = { spec, colors, scales: scalesOf(spec) };
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="${colors.text}">`,
    `<rect width="${width}" height="${height}" fill="${colors.background}"/>`,
    text(box.left, 26, `${spec.title} · ${subtitle}`, 'font-size="15" font-weight="600"'),
    ...legend(drawing),
    ...leftAxis(drawing),
    ...rightAxis(drawing),
    ...bottomAxis(drawing),
    text((box.left + box.right) / 2, height - 12, spec.x.label, 'text-anchor="middle"'),
    ...seriesShapes(drawing),
    ...limitLines(drawing),
    '</svg>',
  ].join('\n');
};

interface Drawing {
  readonly spec: ChartSpec;
  readonly colors: Colors;
  readonly scales: Scales;
}

/** Where values are in the picture. */
interface Scales {
  readonly x: (value: number) => number;
  readonly y: (value: number, side: 'left' | 'right') => number;
  /** The greatest value of each axis. */
  readonly ends: Readonly<Record<'x' | 'left' | 'right', number>>;
  readonly firstX: number;
  readonly lastX: number;
}

const scalesOf = (spec: ChartSpec): Scales => {
  const ends = { x: axisEnd(spec, 'x'), left: axisEnd(spec, 'left'), right: axisEnd(spec, 'right') };
  const [firstX, lastX] = rangeOf(spec, ends.x);
  return {
    x: (value) => box.left + ((value - firstX) / (lastX - firstX)) * (box.right - box.left),
    y: (value, side) => box.bottom - (value / ends[side]) * (box.bottom - box.top),
    ends,
    firstX,
    lastX,
  };
};

/** Numbers start at the first one, with room for half a bar at each end. */
const rangeOf = ({ series, x }: ChartSpec, end: number): readonly [number, number] => {
  if (x.steps !== undefined) return [0, end];
  const first = x.values[0] ?? 1;
  const margin = series.some(({ kind }) => kind === 'bar') ? 0.5 : 0;
  return [first - margin, Math.max(end, first + 1) + margin];
};

const legend = ({ spec, colors }: Drawing): string[] =>
  spec.series.map(
    ({ label, tone }, index) =>
      `<rect x="${box.left + index * 140}" y="44" width="10" height="10" fill="${colors[tone]}"/>` +
      text(box.left + 16 + index * 140, 53, label),
  );

/** The left axis has the lines of the grid. */
const leftAxis = ({ spec, colors, scales: { y, ends } }: Drawing): string[] =>
  ticksOf(ends.left, 5, { steps: spec.left.steps }).map(
    (value) =>
      `<path d="M${box.left} ${round(y(value, 'left'))}H${box.right}" stroke="${colors.line}"/>` +
      text(box.left - 8, y(value, 'left') + 4, spec.left.tick(value), 'text-anchor="end"'),
  );

const rightAxis = ({ spec: { right }, scales: { y, ends } }: Drawing): string[] =>
  right === null
    ? []
    : ticksOf(ends.right, 5, { steps: right.steps }).map((value) =>
        text(box.right + 8, y(value, 'right') + 4, right.tick(value)),
      );

const bottomAxis = ({ spec, scales: { x, firstX, lastX } }: Drawing): string[] =>
  ticksOf(lastX, 10, { start: firstX, steps: spec.x.steps }).map((value) =>
    text(x(value), box.bottom + 20, spec.x.tick(value), 'text-anchor="middle"'),
  );

const seriesShapes = (drawing: Drawing): string[] => {
  const values = drawnValues(drawing.spec);
  const shapes = drawing.spec.series.map((series, index) => {
    if (series.kind === 'bar') return barShapes(drawing, values[index]!, index);
    const points = pointsOf(drawing, values[index]!, series.side);
    const color = drawing.colors[series.tone];
    return series.kind === 'points' ? circles(points, color) : linePath(points, color, series.kind);
  });
  // The first part of a stack lies on top of the others.
  return drawing.spec.isStacked ? shapes.toReversed() : shapes;
};

type Values = readonly (number | null)[];
type Points = readonly (readonly [number, number])[];

const pointsOf = ({ spec, scales: { x, y } }: Drawing, values: Values, side: 'left' | 'right'): Points =>
  values.flatMap((value, at) => (value === null ? [] : [[x(spec.x.values[at]!), y(value, side)] as const]));

const circles = (points: Points, color: string): string =>
  points.map(([px, py]) => `<circle cx="${round(px)}" cy="${round(py)}" r="3" fill="${color}"/>`).join('');

const linePath = (points: Points, color: string, kind: 'line' | 'step'): string => {
  const path = points.map(([px, py], at) =>
    at === 0
      ? `M${round(px)} ${round(py)}`
      : kind === 'step'
        ? `H${round(px)}V${round(py)}`
        : `L${round(px)} ${round(py)}`,
  );
  return `<path d="${path.join('')}" fill="none" stroke="${color}" stroke-width="2"/>`;
};

const barShapes = ({ spec, colors, scales: { x, y } }: Drawing, values: Values, index: number): string => {
  const { side, tone } = spec.series[index]!;
  const bars = spec.series.filter(({ kind }) => kind === 'bar').length;
  const whole = Math.abs(x(1) - x(0)) * 0.8;
  const barWidth = spec.isStacked ? whole : whole / bars;
  const shift = spec.isStacked ? 0 : index * barWidth;
  return values
    .map((value, at) => {
      if (!value) return '';
      const top = y(value, side);
      return `<rect x="${round(x(spec.x.values[at]!) - whole / 2 + shift)}" y="${round(top)}" width="${round(Math.max(0.5, barWidth))}" height="${round(box.bottom - top)}" fill="${colors[tone]}"/>`;
    })
    .join('');
};

const limitLines = (drawing: Drawing): string[] =>
  drawing.spec.limits
    .filter((limit) => limit.value <= drawing.scales.ends[limit.axis])
    .map((limit) => limitLine(limit, drawing));

const limitLine = ({ axis, value, label }: Limit, { colors, scales: { x, y } }: Drawing): string => {
  const line = (d: string) => `<path d="${d}" stroke="${colors.text}" stroke-dasharray="5 4" opacity="0.7"/>`;
  if (axis === 'x')
    return (
      line(`M${round(x(value))} ${box.top}V${box.bottom}`) +
      text(x(value) - 6, box.top + 12, label, 'text-anchor="end"')
    );
  return line(`M${box.left} ${round(y(value, axis))}H${box.right}`) + text(box.left + 6, y(value, axis) - 5, label);
};

const text = (px: number, py: number, words: string, more = ''): string =>
  `<text x="${round(px)}" y="${round(py)}" ${more}>${escapeHtml(words)}</text>`;

const round = (value: number): number => Number(value.toFixed(2));
