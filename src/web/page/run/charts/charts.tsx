import { useMemo } from 'preact/hooks';
import type { RunState } from '../../state/run-state.ts';
import { Chart } from './chart.tsx';
import { chartsOf } from '../../../../charts/spec.ts';

/** The figures of a run, iteration by iteration. */
export const Charts = ({ state: { detail, iterations } }: { readonly state: RunState }) => {
  const { view } = detail;
  const limits = JSON.stringify(view?.limits);
  const specs = useMemo(() => chartsOf({ iterations, view }), [iterations, limits]);
  if (iterations.length === 0)
    return <p class="empty">There are no figures before the first iteration has finished.</p>;
  return (
    <div class="charts">
      {specs
        .filter(({ x }) => x.values.length > 0)
        .map((spec) => (
          <Chart key={spec.name} spec={spec} change={detail.row.change} />
        ))}
    </div>
  );
};
