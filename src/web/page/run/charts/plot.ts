import uPlot from 'uplot';
import { axisEnd, type Axis, type ChartSpec, drawnValues } from '../../../../charts/spec.ts';
import type { Colors } from '../../../../charts/svg.ts';

export interface PlotOptions {
  readonly element: HTMLElement;
  readonly spec: ChartSpec;
  readonly colors: Colors;
  /** The index of the values under the cursor; null if it has left. */
  readonly onCursor: (index: number | null) => void;
  readonly onZoom: (isZoomed: boolean) => void;
}

const height = 220;

export const createPlot = ({ element, spec, colors, onCursor, onZoom }: PlotOptions): uPlot => {
  const order = drawOrder(spec);
  const options: uPlot.Options = {
    width: Math.max(240, element.clientWidth),
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false } },
    scales: {
      x: { time: false, range: (_, min, max) => xRange(spec, min, max) },
      left: { range: () => [0, axisEnd(spec, 'left') * 1.05] },
      right: { range: () => [0, axisEnd(spec, 'right') * 1.05] },
    },
    axes: [
      axis(spec.x, colors, { scale: 'x', side: 2 }),
      axis(spec.left, colors, { scale: 'left', side: 3, isGrid: true }),
      ...(spec.right === null ? [] : [axis(spec.right, colors, { scale: 'right', side: 1 })]),
    ],
    series: [{}, ...order.map((index) => seriesOf(spec, index, colors))],
    hooks: {
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
      setScale: [(plot, key) => key === 'x' && onZoom(isZoomed(plot, spec))],
      draw: [(plot) => drawLimits(plot, spec, colors)],
    },
  };
  return new uPlot(options, dataOf(spec), element);
};

export const dataOf = (spec: ChartSpec): uPlot.AlignedData => {
  const drawn = drawnValues(spec);
  return [spec.x.values, ...drawOrder(spec).map((index) => drawn[index]!)] as unknown as uPlot.AlignedData;
};

/** Of a stack, the whole is drawn first and its first part last. */
const drawOrder = ({ series, isStacked }: ChartSpec): number[] => {
  const indexes = series.map((_, index) => index);
  return isStacked ? indexes.toReversed() : indexes;
};

const xRange = (spec: ChartSpec, min: number, max: number): [number, number] => {
  const hasBars = spec.series.some(({ kind }) => kind === 'bar');
  const values = spec.x.values;
  const isWhole = min <= (values[0] ?? 0) && max >= (values.at(-1) ?? 0);
  if (spec.x.steps !== undefined) return isWhole ? [0, axisEnd(spec, 'x') * 1.02] : [min, max];
  const space = hasBars ? 0.6 : 0;
  return isWhole ? [min - space, Math.max(max, min + 1) + space] : [min, max];
};

const isZoomed = (plot: uPlot, spec: ChartSpec): boolean => {
  const { min, max } = plot.scales['x']!;
  return (min ?? 0) > (spec.x.values[0] ?? 0) || (max ?? 0) < (spec.x.values.at(-1) ?? 0);
};

const axis = (
  { tick, steps }: Axis,
  colors: Colors,
  { scale, side, isGrid = false }: { readonly scale: string; readonly side: 1 | 2 | 3; readonly isGrid?: boolean },
): uPlot.Axis => ({
  scale,
  side,
  stroke: colors.text,
  font: '11px system-ui, sans-serif',
  size: side === 2 ? 30 : 54,
  grid: isGrid ? { stroke: colors.line, width: 1 } : { show: false },
  ticks: { show: false },
  values: (_, splits) => splits.map((value) => (value == null ? '' : tick(value))),
  ...(steps && { incrs: [...steps] }),
});

const seriesOf = (spec: ChartSpec, index: number, colors: Colors): uPlot.Series => {
  const { kind, side, tone } = spec.series[index]!;
  const color = colors[tone];
  if (kind === 'bar') {
    const bars = spec.series.filter((one) => one.kind === 'bar').length;
    const isGrouped = !spec.isStacked && bars > 1;
    const paths = uPlot.paths.bars!({
      size: [isGrouped ? 0.4 : 0.8, 60],
      align: isGrouped ? (index === 0 ? -1 : 1) : 0,
    });
    return { scale: side, stroke: color, fill: color, width: 0, paths, points: { show: false } };
  }
  const points = { show: true, size: 5, fill: color };
  if (kind === 'points') return { scale: side, stroke: color, width: 0, paths: () => null, points };
  return {
    scale: side,
    stroke: color,
    width: 2,
    // Two lines may lie on each other.
    ...(side === 'right' && { dash: [6, 4] }),
    ...(kind === 'step' && { paths: uPlot.paths.stepped!({ align: 1 }) }),
    points: { ...points, show: spec.x.values.length < 40 },
  };
};

const drawLimits = (plot: uPlot, spec: ChartSpec, colors: Colors): void => {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.setLineDash([5 * ratio, 4 * ratio]);
  ctx.strokeStyle = colors.text;
  ctx.fillStyle = colors.text;
  ctx.globalAlpha = 0.75;
  ctx.lineWidth = ratio;
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  for (const { axis: scale, value, label } of spec.limits) {
    const { min, max } = plot.scales[scale]!;
    if (value < (min ?? 0) || value > (max ?? 0)) continue;
    const at = plot.valToPos(value, scale, true);
    ctx.beginPath();
    if (scale === 'x') {
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.textAlign = 'right';
      ctx.fillText(label, at - 5 * ratio, bbox.top + 12 * ratio);
    } else {
      ctx.moveTo(bbox.left, at);
      ctx.lineTo(bbox.left + bbox.width, at);
      ctx.textAlign = 'left';
      ctx.fillText(label, bbox.left + 6 * ratio, at - 5 * ratio);
    }
    ctx.stroke();
  }
  ctx.restore();
};
