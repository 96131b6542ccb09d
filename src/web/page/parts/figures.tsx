import type { ProofCount, TaskCount, Usage } from '../../api.ts';
import { countText, isProven } from '../../../ralph/proof-rows.ts';
import { grouped } from '../../../ralph/usage.ts';
import { dollars } from '../../../text/dollars.ts';

/** `2/4` with a bar. */
export const Tasks = ({ tasks }: { readonly tasks: TaskCount | null }) => {
  if (tasks === null || tasks.total === 0) return <span class="quiet is-unknown">–</span>;
  return (
    <span class="tasks" title={`${tasks.done} of ${tasks.total} tasks done`}>
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${(100 * tasks.done) / tasks.total}%` }} />
      </span>
      <span class="number">
        {tasks.done}/{tasks.total}
      </span>
    </span>
  );
};

/** `3/4 proven` */
export const Proven = ({ proof }: { readonly proof: ProofCount | null }) => {
  if (proof === null || proof.total === 0) return null;
  return (
    <span class={`proven tone-${isProven(proof) ? 'ok' : 'warn'}`} title={`${countText(proof)} by its last gate`}>
      <span class="number">{`${proof.proven}/${proof.total}`}</span> proven
    </span>
  );
};

export const Cost = ({ usage }: { readonly usage: Usage | null }) => {
  const text = dollars(usage?.costUsd ?? null);
  return text === '' ? <span class="quiet is-unknown">–</span> : <span title={exactCost(usage)}>{text}</span>;
};

const exactCost = (usage: Usage | null): string =>
  [
    usage?.costUsd == null ? '' : `$${usage.costUsd}`,
    usage?.inputTokens == null ? '' : `${grouped(usage.inputTokens)} tokens in`,
    usage?.outputTokens == null ? '' : `${grouped(usage.outputTokens)} out`,
  ]
    .filter(Boolean)
    .join(', ');

/** `+12 −3` */
export const Lines = ({ insertions, deletions }: { readonly insertions: number; readonly deletions: number }) => (
  <span class="lines number">
    <span class="plus">+{grouped(insertions)}</span> <span class="minus">−{grouped(deletions)}</span>
  </span>
);

/** Completed tasks over the last iterations. */
export const Sparkline = ({ values, total }: { readonly values: readonly number[]; readonly total: number }) => {
  if (values.length < 2 || total === 0) return <span class="spark" aria-hidden="true" />;
  const [width, height] = [64, 18];
  const x = (index: number) => (index * width) / (values.length - 1);
  const y = (value: number) => height - 1 - (value / total) * (height - 2);
  const line = values.map((value, index) => `${index === 0 ? 'M' : 'L'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`);
  const label = `Completed tasks over the last ${values.length} iterations: ${values[0]} to ${values.at(-1)} of ${total}`;
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label}>
      <path class="spark-area" d={`${line.join('')}L${width} ${height}L0 ${height}Z`} />
      <path class="spark-line" d={line.join('')} />
    </svg>
  );
};
