import { useEffect, useState } from 'preact/hooks';
import { announce } from '../parts/announce.tsx';
import { useKeys } from '../parts/keys.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { statusLook } from '../parts/status.tsx';
import { useTabState } from '../parts/tab-icon.ts';
import { Tabs } from '../parts/tabs.tsx';
import { Charts } from './charts/charts.tsx';
import { Diff } from './diff/diff.tsx';
import { Proof } from '../proof/proof.tsx';
import { backHref, goTo, replaceRoute, runHref, type RunRoute, type RunTab, sameViewHref } from '../route.ts';
import { type Problem, runPath } from '../state/client.ts';
import { useRun } from '../state/run.ts';
import type { RunState } from '../state/run-state.ts';
import { lastCheckpoint } from './checkpoints.ts';
import { RunHeader } from './header.tsx';
import { Iterations } from './iterations.tsx';
import { Plan } from './plan.tsx';
import { shownRunStatus } from './shown-status.ts';

/** A run of a change: the latest one, or one of those before. */
export const Run = ({ route }: { readonly route: RunRoute }) => {
  // The latest run may be another one later.
  const [opened, setOpened] = useState(0);
  return <OpenedRun key={opened} route={route} onSuperseded={() => setOpened((count) => count + 1)} />;
};

const OpenedRun = ({ route, onSuperseded }: { readonly route: RunRoute; readonly onSuperseded: () => void }) => {
  const { state, problem } = useRun(route.change, route.run);
  const isOutdated = route.run === 'latest' && state !== null && state.supersededBy !== null;
  useEffect(() => {
    // What a person types into a dialog is not taken away.
    if (!isOutdated || document.querySelector('dialog[open]') !== null) return;
    // A part of the run that is being read stays; without one, the page follows the latest run.
    const isReading = route.iteration !== null || route.tab !== 'iterations';
    if (isReading) replaceRoute(sameViewHref(route, { change: route.change, run: state.detail.run }));
    else onSuperseded();
  }, [isOutdated]);
  useTabTitle(route.change, state);
  useKeys({ Escape: () => goTo(route.iteration === null ? backHref() : runHref(route)) });
  if (state === null) return problem === null ? <Loading what="Loading the run" /> : <NoRun problem={problem} />;
  return (
    <div class="run">
      <RunHeader route={route} state={state} />
      {(!state.detail.isLatest || state.supersededBy !== null) && (
        <p class="notice tone-warn">
          This is an earlier run of the change. Only the latest one can be steered.{' '}
          <a href={runHref(route.run === 'latest' ? route : { change: route.change })} onClick={onSuperseded}>
            Show the latest run
          </a>
        </p>
      )}
      {hasRun(state) ? <RunTabs route={route} state={state} /> : <Plan state={state} />}
    </div>
  );
};

const NoRun = ({ problem }: { readonly problem: Problem }) => (
  <>
    <Failure problem={problem} />
    <p>
      <a href={backHref()}>All changes</a>
    </p>
  </>
);

const hasRun = ({ detail }: RunState): boolean => detail.view !== null || detail.lastIteration > 0;

const labels: Record<RunTab, string> = {
  iterations: 'Iterations',
  proof: 'Proof',
  charts: 'Charts',
  changes: 'All changes',
  plan: 'Plan',
};

const RunTabs = ({ route, state }: { readonly route: RunRoute; readonly state: RunState }) => {
  const { detail } = state;
  const tabs = (Object.keys(labels) as RunTab[]).map((name) => ({
    name,
    label: labels[name],
    href: runHref(route, name),
    ...(name === 'iterations' && { count: detail.lastIteration }),
  }));
  return (
    <>
      <Tabs tabs={tabs} current={route.tab} label="Parts of the run" />
      {route.tab === 'iterations' && <Iterations route={route} state={state} />}
      {route.tab === 'proof' && <Proof state={state} />}
      {route.tab === 'charts' && <Charts state={state} />}
      {route.tab === 'changes' && <AllChanges state={state} />}
      {route.tab === 'plan' && <Plan state={state} />}
    </>
  );
};

/** What the run has changed, from its first iteration to its last one. */
const AllChanges = ({ state: { detail, iterations } }: { readonly state: RunState }) => {
  // The list of checkpoints may be older than the last iteration.
  const recorded = iterations.findLast(({ checkpoint }) => checkpoint !== null)?.iteration ?? 0;
  const last = Math.max(lastCheckpoint(detail.checkpoints), recorded);
  if (last === 0) return <p class="empty">There is nothing to compare yet: the run has no checkpoint.</p>;
  return <Diff path={runPath(detail.row.change, detail.run)} range={{ from: '0', to: String(last) }} />;
};

const useTabTitle = (change: string, state: RunState | null): void => {
  const status = state === null ? 'none' : shownRunStatus(state.detail);
  const { word, tone } = statusLook(status);
  const view = state?.detail.view;
  const progress = view ? `#${view.iteration}${view.maxIterations === null ? '' : `/${view.maxIterations}`} ` : '';
  useTabState(state === null ? `${change} · Spool` : `${word} ${progress}· ${change} · Spool`, tone);
  useEffect(() => {
    if (state !== null) announce(`${change}: ${word}`);
  }, [word, state === null]);
};
