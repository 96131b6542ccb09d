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

/** The chart as a picture of its own, without styles or scripts. */
export const chartSvg = (spec: ChartSpec, colors: Colors, subtitle: string): string => {
  const ends = { x: axisEnd(spec, 'x'), left: axisEnd(spec, 'left'), right: axisEnd(spec, 'right') };
  const hasBars = spec.series.some(({ kind }) => kind === 'bar');
  const isNumbered = spec.x.steps === undefined;
  const [firstX, lastX] = isNumbered
    ? [
        (spec.x.values[0] ?? 1) - (hasBars ? 0.5 : 0),
        Math.max(ends.x, (spec.x.values[0] ?? 1) + 1) + (hasBars ? 0.5 : 0),
      ]
    : [0, ends.x];
  const x = (value: number) => box.left + ((value - firstX) / (lastX - firstX)) * (box.right - box.left);
  const y = (value: number, side: 'left' | 'right') => box.bottom - (value / ends[side]) * (box.bottom - box.top);
  const drawn = drawnValues(spec);
  const bars = spec.series.filter(({ kind }) => kind === 'bar').length;

  const shapes = spec.series.map((series, index) => {
    const values = drawn[index]!;
    const fill = colors[series.tone];
    if (series.kind === 'bar') return barShapes({ spec, index, values, fill, bars, x, y });
    const points = values.flatMap((value, at) =>
      value === null ? [] : [[x(spec.x.values[at]!), y(value, series.side)] as const],
    );
    if (series.kind === 'points')
      return points.map(([px, py]) => `<circle cx="${round(px)}" cy="${round(py)}" r="3" fill="${fill}"/>`).join('');
    const path = points.map(([px, py], at) =>
      at === 0
        ? `M${round(px)} ${round(py)}`
        : series.kind === 'step'
          ? `H${round(px)}V${round(py)}`
          : `L${round(px)} ${round(py)}`,
    );
    return `<path d="${path.join('')}" fill="none" stroke="${fill}" stroke-width="2"/>`;
  });
  // The first part of a stack lies on top of the others.
  if (spec.isStacked) shapes.reverse();

  const text = (px: number, py: number, words: string, more = '') =>
    `<text x="${round(px)}" y="${round(py)}" ${more}>${escapeHtml(words)}</text>`;
  const grid = ticksOf(ends.left, 5, { steps: spec.left.steps }).map(
    (value) =>
      `<path d="M${box.left} ${round(y(value, 'left'))}H${box.right}" stroke="${colors.line}"/>` +
      text(box.left - 8, y(value, 'left') + 4, spec.left.tick(value), 'text-anchor="end"'),
  );
  const right = spec.right;
  const rightTicks =
    right === null
      ? []
      : ticksOf(ends.right, 5, { steps: right.steps }).map((value) =>
          text(box.right + 8, y(value, 'right') + 4, right.tick(value)),
        );
  const bottom = ticksOf(lastX, 10, { start: firstX, steps: spec.x.steps }).map((value) =>
    text(x(value), box.bottom + 20, spec.x.tick(value), 'text-anchor="middle"'),
  );
  const limits = spec.limits
    .filter((limit) => limit.value <= ends[limit.axis])
    .map((limit) => limitLine(limit, { x, y, text, color: colors.text }));
  const legend = spec.series.map(
    ({ label, tone }, index) =>
      `<rect x="${box.left + index * 140}" y="44" width="10" height="10" fill="${colors[tone]}"/>` +
      text(box.left + 16 + index * 140, 53, label),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="${colors.text}">`,
    `<rect width="${width}" height="${height}" fill="${colors.background}"/>`,
    text(box.left, 26, `${spec.title} · ${subtitle}`, 'font-size="15" font-weight="600"'),
    ...legend,
    ...grid,
    ...rightTicks,
    ...bottom,
    text((box.left + box.right) / 2, height - 12, spec.x.label, 'text-anchor="middle"'),
    ...shapes,
    ...limits,
    '</svg>',
  ].join('\n');
};

interface Scales {
  readonly x: (value: number) => number;
  readonly y: (value: number, side: 'left' | 'right') => number;
}

const barShapes = ({
  spec,
  index,
  values,
  fill,
  bars,
  x,
  y,
}: Scales & {
  readonly spec: ChartSpec;
  readonly index: number;
  readonly values: readonly (number | null)[];
  readonly fill: string;
  readonly bars: number;
}): string => {
  const whole = Math.abs(x(1) - x(0)) * 0.8;
  const barWidth = spec.isStacked ? whole : whole / bars;
  const shift = spec.isStacked ? 0 : index * barWidth;
  return values
    .map((value, at) => {
      if (!value) return '';
      const top = y(value, spec.series[index]!.side);
      return `<rect x="${round(x(spec.x.values[at]!) - whole / 2 + shift)}" y="${round(top)}" width="${round(Math.max(0.5, barWidth))}" height="${round(box.bottom - top)}" fill="${fill}"/>`;
    })
    .join('');
};

const limitLine = (
  { axis, value, label }: Limit,
  {
    x,
    y,
    text,
    color,
  }: Scales & {
    readonly text: (px: number, py: number, words: string, more?: string) => string;
    readonly color: string;
  },
): string => {
  const line = (d: string) => `<path d="${d}" stroke="${color}" stroke-dasharray="5 4" opacity="0.7"/>`;
  if (axis === 'x')
    return (
      line(`M${round(x(value))} ${box.top}V${box.bottom}`) +
      text(x(value) - 6, box.top + 12, label, 'text-anchor="end"')
    );
  return line(`M${box.left} ${round(y(value, axis))}H${box.right}`) + text(box.left + 6, y(value, axis) - 5, label);
};

const round = (value: number): number => Number(value.toFixed(2));
