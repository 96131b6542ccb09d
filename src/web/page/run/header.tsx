import type { RunDetail, RunView } from '../../api.ts';
import { grouped, tokensOf, spentUsage } from '../../../ralph/usage.ts';
import { duration, pluralise } from '../../../text/duration.ts';
import { shortNumber } from '../../../text/short-number.ts';
import { attentionTone } from '../parts/attention.ts';
import { Cost, Proven, Tasks } from '../parts/figures.tsx';
import { BackIcon } from '../parts/icons.tsx';
import { ChangeLabels } from '../parts/labels.tsx';
import { Status } from '../parts/status.tsx';
import { Ago, Elapsed, exactTime } from '../parts/time.tsx';
import { backHref, goTo, runHref, type RunRoute } from '../route.ts';
import type { RunState } from '../state/run-state.ts';
import { Steering } from './steering.tsx';
import { Now } from './now.tsx';
import { shownRunStatus } from './shown-status.ts';

/** What the run is, what became of it, and what can be done with it. */
export const RunHeader = ({ route, state }: { readonly route: RunRoute; readonly state: RunState }) => {
  const { detail } = state;
  const { view } = detail;
  return (
    <header class="run-header">
      <div class="run-title">
        <a class="icon-button" href={backHref()} aria-label="All changes" title="All changes (Esc)">
          <BackIcon />
        </a>
        <h1>
          <bdi>{route.change}</bdi>
        </h1>
        <Status status={shownRunStatus(detail)} />
        {/* The branch is among the facts. */}
        <ChangeLabels row={{ ...detail.row, branch: null }} />
        <RunChoice detail={detail} />
      </div>
      {view !== null && <Outcome detail={detail} view={view} />}
      <Now state={state} />
      {view !== null && <Facts detail={detail} view={view} />}
      <Steering state={state} />
    </header>
  );
};

const RunChoice = ({ detail }: { readonly detail: RunDetail }) => {
  if (detail.runs.length < 2) return null;
  const choose = (run: string) =>
    goTo(runHref({ change: detail.row.change, run: run === detail.runs[0]?.run ? 'latest' : run }));
  return (
    <select
      aria-label="Run"
      class="run-choice"
      value={detail.run}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      {detail.runs.map(({ run, startedAt, status, iterations }, index) => (
        <option key={run} value={run}>
          {index === 0 ? 'Latest run' : `Run of ${startedAt === null ? run : exactTime(startedAt).slice(0, 16)}`}
          {` · ${status ?? 'unknown'} · ${pluralise(iterations, 'iteration')}`}
        </option>
      ))}
    </select>
  );
};

/** Why it ended, or what it waits for. */
const Outcome = ({ detail, view }: { readonly detail: RunDetail; readonly view: RunView }) => {
  const attention = detail.isLatest ? detail.row.attention : null;
  const text = attention?.text ?? view.error ?? (view.status === 'running' ? null : view.detail);
  if (text === null) return null;
  return <p class={`outcome ${attention === null ? '' : `is-attention tone-${attentionTone(attention)}`}`}>{text}</p>;
};

const Facts = ({ detail, view }: { readonly detail: RunDetail; readonly view: RunView }) => {
  const usage = spentUsage(view);
  const tokens = tokensOf(usage);
  const { limits } = view;
  const tasks =
    detail.tasks === null
      ? view.tasks
      : { done: detail.tasks.filter(({ done }) => done).length, total: detail.tasks.length };
  return (
    <dl class="facts">
      <Fact name="Iteration" limit={view.maxIterations === null ? null : String(view.maxIterations)}>
        {view.iteration}
      </Fact>
      <Fact name="Tasks">
        <Tasks tasks={tasks} />
      </Fact>
      {view.proof !== undefined && (
        <Fact name="Scenarios">
          <Proven proof={view.proof} />
        </Fact>
      )}
      <Fact name="Time" limit={limits.maxDurationMs === null ? null : duration(limits.maxDurationMs)}>
        <Elapsed ms={view.elapsedMs} sinceMs={detail.status === 'running' ? Date.parse(detail.now) : null} />
      </Fact>
      <Fact name="Cost" limit={limits.maxCostUsd === null ? null : `$${limits.maxCostUsd}`}>
        <Cost usage={usage} />
      </Fact>
      <Fact name="Tokens" limit={limits.maxTokens === null ? null : shortNumber(limits.maxTokens)}>
        {tokens === null ? <span class="quiet">–</span> : <span title={grouped(tokens)}>{shortNumber(tokens)}</span>}
      </Fact>
      <Fact name="Agent">
        {view.harness}
        {view.model !== null && <span class="quiet"> {view.model}</span>}
      </Fact>
      <Fact name="Started">
        <Ago at={view.startedAt} />
      </Fact>
      {limits.untilMs !== null && <Fact name="Until">{exactTime(limits.untilMs).slice(0, 16)}</Fact>}
      {view.workspace?.branch && (
        <Fact name="Branch">
          <code>
            <bdi>{view.workspace.branch}</bdi>
          </code>
        </Fact>
      )}
    </dl>
  );
};

const Fact = ({
  name,
  limit = null,
  children,
}: {
  readonly name: string;
  readonly limit?: string | null;
  readonly children: preact.ComponentChildren;
}) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd class="number">
      {children}
      {limit !== null && (
        <span class="quiet" title="Limit">
          {' '}
          / {limit}
        </span>
      )}
    </dd>
  </div>
);
