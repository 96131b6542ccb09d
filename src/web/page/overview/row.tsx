import { useState } from 'preact/hooks';
import type { Row } from '../../api.ts';
import { attentionTone } from '../parts/attention.ts';
import { Cost, Proven, Sparkline, Tasks } from '../parts/figures.tsx';
import { MachineIcon } from '../parts/icons.tsx';
import { ChangeLabels } from '../parts/labels.tsx';
import { Status } from '../parts/status.tsx';
import { Ago, Elapsed } from '../parts/time.tsx';
import { runHref } from '../route.ts';
import { sentAtMs } from '../state/overview.ts';
import { StartDialog } from '../steer/start.tsx';
import { shownStatus } from './groups.ts';

/** Above the columns of all groups. Screen readers find the same words in each row. */
export const ColumnTitles = () => (
  <div class="row column-titles" aria-hidden="true">
    <span>Change</span>
    <span>State</span>
    <span>Progress</span>
    <span>Tasks</span>
    <span class="row-figures">
      <span>Iteration</span>
      <span>Time</span>
      <span>Cost</span>
    </span>
    <span class="row-when">Ended</span>
  </div>
);

/** A change with its last run. The whole row is a link. */
export const ChangeRow = ({ row, readOnly }: { readonly row: Row; readonly readOnly: boolean }) => {
  const canStart = !readOnly && (row.status === 'none' || row.status === 'interrupted');
  return (
    <li class="row">
      <div class="row-main">
        <a class="change-link" id={`change-${row.change}`} href={runHref({ change: row.change })}>
          <bdi>{row.change}</bdi>
        </a>
        <ChangeLabels row={row} />
        <Note row={row} />
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
        <Proven proof={row.proof} />
      </div>
      <div class="row-figures number">{row.run !== null && <Figures row={row} />}</div>
      <div class="row-when">
        {row.endedAt !== null ? <Ago at={row.endedAt} /> : canStart && <StartButton row={row} />}
      </div>
    </li>
  );
};

/** Why a person should look at it, or what it does. */
const Note = ({ row }: { readonly row: Row }) => {
  const text = row.attention?.text ?? row.problem ?? row.activity;
  if (text === null) return null;
  return (
    <div
      class={`row-note ${row.attention === null ? '' : `is-attention tone-${attentionTone(row.attention)}`}`}
      title={text}
    >
      {text}
    </div>
  );
};

const Figures = ({ row }: { readonly row: Row }) => (
  <>
    <span>
      <span class="visually-hidden">Iteration </span>#{row.iteration}
      <span class="quiet">/{row.maxIterations ?? '∞'}</span>
    </span>
    <span>
      <span class="visually-hidden">Running time </span>
      <Elapsed ms={row.elapsedMs} sinceMs={row.status === 'running' ? sentAtMs(row) : null} />
    </span>
    <span>
      <span class="visually-hidden">Cost </span>
      <Cost usage={row.usage} />
    </span>
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
