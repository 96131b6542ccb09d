import type { IterationDetail, IterationSummary } from '../../api.ts';
import { duration, pluralise } from '../../../text/duration.ts';
import { Diff } from './diff/diff.tsx';
import { Cost, Lines } from '../parts/figures.tsx';
import { BackIcon } from '../parts/icons.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { Outcome, Status } from '../parts/status.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { Ago } from '../parts/time.tsx';
import { iterationHref, iterationTabs, runHref, type IterationTab, type RunRoute } from '../route.ts';
import { runPath } from '../state/client.ts';
import { useLoaded, type Loaded } from '../state/load.ts';
import type { RunState } from '../state/run-state.ts';
import { Gate } from './gate.tsx';
import { Handover } from './handover.tsx';
import { Conversation } from './conversation.tsx';
import { shownRunStatus } from './shown-status.ts';
import { TextFile } from './text-file.tsx';
import type { Unfinished } from './unfinished.ts';

const labels: Record<IterationTab, string> = {
  conversation: 'Conversation',
  diff: 'Diff',
  gate: 'Gate',
  prompt: 'Prompt',
  log: 'Raw log',
  handover: 'Handover',
};

/** One iteration. One that is running, or was cut off, has no record. */
export const Iteration = ({
  route,
  state,
  number,
  unfinished,
  latest,
}: {
  readonly route: RunRoute;
  readonly state: RunState;
  readonly number: number;
  readonly unfinished: Unfinished | null;
  readonly latest: number;
}) => {
  const { detail } = state;
  const base = `${runPath(detail.row.change, detail.run)}/iterations/${number}`;
  const summary = state.iterations.find(({ iteration }) => iteration === number) ?? null;
  const loaded = useLoaded<IterationDetail>(unfinished === null ? base : null, summary === null ? 0 : 1);
  // An address without a number follows the latest iteration.
  const followed = route.iteration === null ? null : number;
  const hasNotes = Boolean(summary?.handover);
  const shown = iterationTabs.filter((name) => name !== 'handover' || hasNotes || route.iterationTab === name);
  const tabs = shown.map((name) => ({
    name,
    label: labels[name],
    href: iterationHref(route, name === 'conversation' ? followed : number, name),
    ...(name === 'diff' && summary?.filesChanged ? { count: summary.filesChanged } : {}),
  }));
  return (
    <section class="iteration" aria-label={`Iteration ${number}`}>
      <div class="iteration-header">
        <a class="icon-button only-narrow" href={runHref(route)} aria-label="All iterations">
          <BackIcon />
        </a>
        <h2>Iteration {number}</h2>
        {unfinished !== null && <Status status={shownRunStatus(detail)} />}
        {summary !== null && <Outcome outcome={summary.outcome} />}
        {summary !== null && <Facts summary={summary} />}
        {number !== latest && (
          <a class="to-latest" href={runHref(route)}>
            Latest: #{latest}
          </a>
        )}
      </div>
      <Tabs tabs={tabs} current={route.iterationTab} label={`Parts of iteration ${number}`} />
      <div class={`iteration-body is-${route.iterationTab}`}>
        <TabBody {...{ tab: route.iterationTab, base, state, number, unfinished, loaded, summary }} />
      </div>
    </section>
  );
};

const Facts = ({ summary }: { readonly summary: IterationSummary }) => (
  <span class="iteration-facts number">
    <span>{duration(summary.durationMs)}</span>
    {summary.filesChanged === 0 && summary.outcome !== 'no-changes' && <span>no changes</span>}
    {summary.filesChanged !== null && summary.filesChanged > 0 && (
      <span>
        {pluralise(summary.filesChanged, 'file')}{' '}
        <Lines insertions={summary.insertions ?? 0} deletions={summary.deletions ?? 0} />
      </span>
    )}
    {summary.usage !== null && <Cost usage={summary.usage} />}
    {summary.commit !== null && <code title={`Commit ${summary.commit}`}>{summary.commit.slice(0, 8)}</code>}
    <Ago at={summary.startedAt} />
  </span>
);

interface BodyProps {
  readonly tab: IterationTab;
  readonly base: string;
  readonly state: RunState;
  readonly number: number;
  readonly unfinished: Unfinished | null;
  readonly loaded: Loaded<IterationDetail>;
  readonly summary: IterationSummary | null;
}

const TabBody = ({ tab, base, state, number, unfinished, loaded, summary }: BodyProps) => {
  const { detail } = state;
  const isCurrent = unfinished?.isRunning ?? false;
  switch (tab) {
    case 'conversation':
      return <Conversation base={base} state={state} number={number} isCurrent={isCurrent} />;
    case 'prompt':
      return <TextFile key="prompt" base={`${base}/prompt`} name={`prompt of iteration ${number}`} isGrowing={false} />;
    case 'log':
      return <TextFile key="log" base={`${base}/log`} name={`log of iteration ${number}`} isGrowing={isCurrent} />;
    case 'handover':
      return <Handover notes={summary?.handover ?? null} />;
    case 'gate':
    case 'diff':
      if (unfinished !== null)
        return (
          <p class="empty">
            {isCurrent
              ? 'The iteration is still running.'
              : 'The iteration was cut off. Nothing was checked, and there is no checkpoint of its end.'}
          </p>
        );
      if (loaded.state === 'loading') return <Loading />;
      if (loaded.state === 'failed') return <Failure problem={loaded.problem} />;
      if (tab === 'gate') return <Gate detail={loaded.value} />;
      if (!loaded.value.hasDiff)
        return <p class="empty">There are no checkpoints to compare: the run had no git, or they were deleted.</p>;
      return <Diff path={runPath(detail.row.change, detail.run)} range={{ iteration: number }} />;
  }
};
