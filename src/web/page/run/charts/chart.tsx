import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { themeChanged } from '../../parts/theme.tsx';
import { themeColors } from './colors.ts';
import { chartCsv } from '../../../../charts/csv.ts';
import { createPlot, dataOf } from './plot.ts';
import { pngOf, saveFile } from './save.ts';
import type { ChartSpec } from '../../../../charts/spec.ts';
import { chartSvg } from '../../../../charts/svg.ts';

interface ChartProps {
  readonly spec: ChartSpec;
  readonly change: string;
}

/** A chart with its values, its table, and buttons that save it. */
export const Chart = ({ spec, change }: ChartProps) => {
  const [index, setIndex] = useState<number | null>(null);
  const [isZoomed, setZoomed] = useState(false);
  const [hasTable, setTable] = useState(false);
  const { element, plot } = usePlot(spec, { onCursor: setIndex, onZoom: setZoomed });

  const pressed = (event: KeyboardEvent) => {
    if (plot.current !== null && moveCursor(plot.current, event.key, spec.x.values.length)) event.preventDefault();
  };
  return (
    <section class="chart" aria-labelledby={`chart-${spec.name}`}>
      <div class="chart-header">
        <h2 id={`chart-${spec.name}`}>{spec.title}</h2>
        <div class="chart-buttons">
          {isZoomed && (
            <button type="button" class="small" onClick={() => plot.current && resetZoom(plot.current)}>
              Reset zoom
            </button>
          )}
          <SaveButtons spec={spec} change={change} />
        </div>
      </div>
      <Values spec={spec} index={index} />
      <div
        ref={element}
        class="plot"
        tabIndex={0}
        role="group"
        aria-label={`${spec.title}. ${spec.x.values.length} values. Arrow keys move through them, plus and minus zoom.`}
        onKeyDown={pressed}
      />
      <details onToggle={({ currentTarget }) => setTable(currentTarget.open)}>
        <summary>Table</summary>
        {hasTable && <Table spec={spec} />}
      </details>
    </section>
  );
};

const SaveButtons = ({ spec, change }: ChartProps) => {
  const file = `${change}-${spec.name}`.replaceAll(/[^\w.-]+/g, '-');
  const svg = () => chartSvg(spec, themeColors(), change);
  return (
    <>
      <button
        type="button"
        class="small"
        aria-label={`Save ${spec.title} as SVG`}
        onClick={() => saveFile(`${file}.svg`, new Blob([svg()], { type: 'image/svg+xml' }))}
      >
        SVG
      </button>
      <button
        type="button"
        class="small"
        aria-label={`Save ${spec.title} as PNG`}
        onClick={() => void pngOf(svg()).then((png) => saveFile(`${file}.png`, png))}
      >
        PNG
      </button>
      <button
        type="button"
        class="small"
        aria-label={`Save ${spec.title} as CSV`}
        onClick={() => saveFile(`${file}.csv`, new Blob([chartCsv(spec)], { type: 'text/csv' }))}
      >
        CSV
      </button>
    </>
  );
};

/** The legend, with the values under the cursor or the last ones. */
const Values = ({ spec, index }: { readonly spec: ChartSpec; readonly index: number | null }) => {
  const at = index ?? spec.x.values.length - 1;
  const x = spec.x.values[at];
  return (
    <p class="chart-values number" aria-live={index === null ? 'off' : 'polite'}>
      <span class="chart-x">{x === undefined ? 'No values yet' : spec.x.text(x)}</span>
      {spec.series.map(({ label, values, tone, side }) => {
        const value = values[at] ?? null;
        const axis = side === 'right' && spec.right !== null ? spec.right : spec.left;
        return (
          <span key={label} class="chart-value">
            <span class={`swatch ${tone}`} aria-hidden="true" />
            {label} <strong>{value === null ? '–' : axis.text(value)}</strong>
          </span>
        );
      })}
      {spec.limits.map(({ label }) => (
        <span key={label} class="chart-limit">
          {label}
        </span>
      ))}
    </p>
  );
};

const Table = ({ spec }: { readonly spec: ChartSpec }) => (
  <div class="table-scroll" tabIndex={0} role="region" aria-label={`Values of ${spec.title}`}>
    <table>
      <thead>
        <tr>
          <th scope="col">{spec.x.label}</th>
          {spec.series.map(({ label }) => (
            <th key={label} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {spec.x.values.map((value, index) => (
          <tr key={index}>
            <th scope="row">{spec.x.text(value)}</th>
            {spec.series.map(({ label, values, side }) => {
              const one = values[index] ?? null;
              const axis = side === 'right' && spec.right !== null ? spec.right : spec.left;
              return <td key={label}>{one === null ? '–' : axis.text(one)}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const usePlot = (
  spec: ChartSpec,
  {
    onCursor,
    onZoom,
  }: { readonly onCursor: (index: number | null) => void; readonly onZoom: (isZoomed: boolean) => void },
) => {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(spec);
  latest.current = spec;
  const create = () => {
    plot.current?.destroy();
    if (element.current === null) return;
    plot.current = createPlot({
      element: element.current,
      spec: latest.current,
      colors: themeColors(),
      onCursor,
      onZoom,
    });
  };
  // Limits and labels are part of a plot; values are not.
  const shape = JSON.stringify([spec.limits, spec.series.map(({ label }) => label)]);
  useEffect(() => {
    create();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0);
      if (plot.current && width > 0 && width !== plot.current.width)
        plot.current.setSize({ width, height: plot.current.height });
    });
    if (element.current) observer.observe(element.current);
    addEventListener(themeChanged, create);
    dark.addEventListener('change', create);
    return () => {
      observer.disconnect();
      removeEventListener(themeChanged, create);
      dark.removeEventListener('change', create);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  const count = spec.x.values.length;
  const newest = spec.series.map(({ values }) => values.at(-1)).join(' ');
  useEffect(() => {
    // A part of the chart that was zoomed into stays in view.
    plot.current?.setData(dataOf(spec), !isPart(plot.current));
  }, [count, newest]);
  return { element, plot };
};

const isPart = (plot: uPlot): boolean => {
  const [values] = plot.data;
  const { min, max } = plot.scales['x']!;
  return (min ?? 0) > (values[0] ?? 0) || (max ?? 0) < (values.at(-1) ?? 0);
};

const resetZoom = (plot: uPlot): void => {
  const [values] = plot.data;
  plot.setScale('x', { min: values[0] ?? 0, max: values.at(-1) ?? 1 });
};

/** Returns whether the key means something here. */
const moveCursor = (plot: uPlot, key: string, count: number): boolean => {
  const at = plot.cursor.idx ?? null;
  const show = (index: number) => {
    const value = plot.data[0][Math.min(count - 1, Math.max(0, index))];
    if (value !== undefined) plot.setCursor({ left: plot.valToPos(value, 'x'), top: 10 });
    return true;
  };
  switch (key) {
    case 'ArrowRight':
      return show((at ?? -1) + 1);
    case 'ArrowLeft':
      return show((at ?? count) - 1);
    case 'Home':
      return show(0);
    case 'End':
      return show(count - 1);
    case '+':
      return zoom(plot, 0.5);
    case '-':
      return zoom(plot, 2);
    case '0':
      resetZoom(plot);
      return true;
    default:
      return false;
  }
};

const zoom = (plot: uPlot, factor: number): boolean => {
  const { min = 0, max = 1 } = plot.scales['x']!;
  const [low, high] = [min ?? 0, max ?? 1];
  const middle = plot.cursor.idx == null ? (low + high) / 2 : (plot.data[0][plot.cursor.idx] ?? (low + high) / 2);
  const half = ((high - low) * factor) / 2;
  const values = plot.data[0];
  if (factor > 1 && middle - half <= (values[0] ?? 0) && middle + half >= (values.at(-1) ?? 0)) resetZoom(plot);
  else plot.setScale('x', { min: middle - half, max: middle + half });
  return true;
};
