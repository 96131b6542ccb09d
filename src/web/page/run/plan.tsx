import type { RunView } from '../../api.ts';
import { duration } from '../../../text/duration.ts';
import { Markdown } from '../parts/markdown.tsx';
import { exactTime } from '../parts/time.tsx';
import type { RunState } from '../state/run.ts';

/** What was asked for, and under which limits. */
export const Plan = ({ state: { detail } }: { readonly state: RunState }) => (
  <div class="plan">
    <div class="plan-side">
      {detail.tasks !== null && <TaskList tasks={detail.tasks} />}
      {detail.view !== null && <Settings view={detail.view} />}
    </div>
    <div class="plan-documents">
      {detail.context && (
        <section class="document">
          <h2>Added context</h2>
          <p class="hint">Every iteration reads it.</p>
          <pre class="output">{detail.context}</pre>
        </section>
      )}
      {detail.documents.map(({ name, text, isCut }) => (
        <section key={name} class="document">
          <h2>
            <bdi>{name}</bdi>
          </h2>
          <Markdown text={text} />
          {isCut && <p class="hint">The rest is left out.</p>}
        </section>
      ))}
      {detail.documents.length === 0 && <p class="empty">The documents of this change are gone.</p>}
    </div>
  </div>
);

const TaskList = ({ tasks }: { readonly tasks: NonNullable<RunState['detail']['tasks']> }) => (
  <section>
    <h2>
      Tasks <span class="count">{`${tasks.filter(({ done }) => done).length}/${tasks.length}`}</span>
    </h2>
    <ul class="task-list">
      {tasks.map(({ title, done, optional }, index) => (
        <li key={index} class={done ? 'is-done' : ''}>
          <span aria-hidden="true">{done ? '✓' : '○'}</span>
          <span>
            {title}
            <span class="visually-hidden">{done ? ', done' : ', open'}</span>
            {optional && <span class="quiet"> (optional)</span>}
          </span>
        </li>
      ))}
    </ul>
  </section>
);

const Settings = ({ view }: { readonly view: RunView }) => {
  const { limits, gate } = view;
  const rows: readonly (readonly [string, string | null])[] = [
    ['Run', view.run],
    [
      'Agents',
      view.agents
        .map(({ harness, model }) => (model === null ? harness : `${harness} (${model})`))
        .join(view.ladder ? ', then ' : ', '),
    ],
    ['Agent since', view.switched ? `iteration ${view.switched.iteration}: ${view.switched.why}` : null],
    ['Permissions', view.allowAll ? 'everything allowed' : 'own rules of the agent'],
    ['Sandbox', view.sandbox ? 'yes' : 'no'],
    ['Done', `when it prints <promise>${view.completionPromise}</promise>`],
    ['Verify commands', gate.verify.length === 0 ? 'none' : gate.verify.join('; ')],
    ['Tasks required', gate.requireTasks ? 'yes' : 'no'],
    ['Scenarios required', gate.requireScenarios ? (gate.redFirst ? 'yes, red first' : 'yes') : 'no'],
    ['Commits', view.commit ? 'after each iteration' : 'none'],
    ['Iterations', `${view.minIterations} to ${view.maxIterations ?? 'unlimited'}`],
    ['Time', limits.maxDurationMs === null ? null : duration(limits.maxDurationMs)],
    ['Until', limits.untilMs === null ? null : exactTime(limits.untilMs)],
    ['Cost', limits.maxCostUsd === null ? null : `$${limits.maxCostUsd}`],
    ['Tokens', limits.maxTokens === null ? null : String(limits.maxTokens)],
    ['Iteration timeout', limits.iterationTimeoutMs === null ? null : duration(limits.iterationTimeoutMs)],
    ['Idle timeout', limits.idleTimeoutMs === null ? null : duration(limits.idleTimeoutMs)],
    ['Failures in a row', limits.maxFailures === null ? null : String(limits.maxFailures)],
    ['Without changes', limits.maxStalled === null ? null : String(limits.maxStalled)],
    ['Folder', view.workspace?.root ?? null],
    ['Branch', view.workspace?.branch ?? null],
  ];
  return (
    <section>
      <h2>Settings and limits</h2>
      <dl class="settings">
        {rows.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
    </section>
  );
};
