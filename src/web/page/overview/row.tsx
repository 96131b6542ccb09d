import { useState } from 'preact/hooks';
import type { Row } from '../../api.ts';
import { Cost, Sparkline, Tasks } from '../parts/figures.tsx';
import { MachineIcon } from '../parts/icons.tsx';
import { Status } from '../parts/status.tsx';
import { Ago, Elapsed } from '../parts/time.tsx';
import { runHref } from '../route.ts';
import { sentAtMs } from '../state/overview.ts';
import { StartDialog } from '../steer/start.tsx';
import { shownStatus } from './groups.ts';

/** A change with its last run. The whole row is a link. */
export const ChangeRow = ({ row, readOnly }: { readonly row: Row; readonly readOnly: boolean }) => {
  const isRunning = row.status === 'running';
  const hasRun = row.run !== null;
  return (
    <li class="row">
      <div class="row-main">
        <a class="change-link" href={runHref({ change: row.change })}>
          <bdi>{row.change}</bdi>
        </a>
        <Labels row={row} />
        <div class={`row-note ${row.attention === null ? '' : 'is-attention'}`}>
          {row.attention?.text ?? row.problem ?? row.activity ?? ''}
        </div>
      </div>
      <div class="row-status">
        <Status status={shownStatus(row)} />
        {row.remote !== null && <Machine row={row} />}
      </div>
      <div class="row-spark">
        <Sparkline values={row.spark} total={row.tasks?.total ?? 0} />
      </div>
      <div class="row-tasks">
        <Tasks tasks={row.tasks} />
      </div>
      <div class="row-figures number">
        {hasRun && (
          <>
            <span title="Iteration">
              #{row.iteration}
              <span class="quiet">/{row.maxIterations ?? '∞'}</span>
            </span>
            <span title="Running time">
              <Elapsed ms={row.elapsedMs} sinceMs={isRunning ? sentAtMs(row) : null} />
            </span>
            <span>
              <Cost usage={row.usage} />
            </span>
          </>
        )}
      </div>
      <div class="row-when">
        {row.endedAt !== null ? (
          <Ago at={row.endedAt} />
        ) : (
          !readOnly && (row.status === 'none' || row.status === 'interrupted') && <StartButton row={row} />
        )}
      </div>
    </li>
  );
};

const Labels = ({ row }: { readonly row: Row }) => (
  <>
    {row.source !== null && row.source !== 'spool' && <span class="label">{row.source}</span>}
    {row.archived && <span class="label">archived</span>}
    {row.deleted && <span class="label tone-warn">deleted</span>}
    {row.landed === true && <span class="label tone-ok">landed</span>}
    {row.leftovers > 0 && <span class="label tone-bad">{row.leftovers} processes left</span>}
    {row.branch !== null && (
      <code class="branch">
        <bdi>{row.branch}</bdi>
      </code>
    )}
  </>
);

const Machine = ({ row }: { readonly row: Row }) => (
  <span class={`machine ${row.remote?.silent ? 'tone-bad' : 'quiet'}`} title={row.remote?.detail ?? row.remote?.state}>
    <MachineIcon />
    {row.remote?.host ?? row.remote?.worker ?? row.remote?.state}
  </span>
);

const StartButton = ({ row }: { readonly row: Row }) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="small" onClick={() => setOpen(true)}>
        {row.status === 'none' ? 'Start' : 'Resume'}
        <span class="visually-hidden"> {row.change}</span>
      </button>
      {isOpen && <StartDialog change={row.change} status={row.status} onClose={() => setOpen(false)} />}
    </>
  );
};
