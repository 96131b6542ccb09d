import type { GateRun, IterationDetail, ReviewReport } from '../../api.ts';
import { hasPassed } from '../../../ralph/gate-result.ts';
import { duration, pluralise } from '../../../text/duration.ts';
import { Cost } from '../parts/figures.tsx';
import { CheckIcon, CrossIcon, WarningIcon } from '../parts/icons.tsx';

const words: Record<GateRun['outcome'], string> = {
  passed: 'passed',
  flaky: 'failed, then passed when retried',
  failed: 'failed',
  'timed-out': 'timed out',
  interrupted: 'was interrupted',
};

/** What was checked after the iteration, and why a promise was rejected. */
export const Gate = ({ detail: { record, gate } }: { readonly detail: IterationDetail }) => {
  const { rejected, error, blocked, denied, mentions, commitProblem, evidence } = record;
  const isEmpty = gate === null && !rejected && !error && !blocked && !denied && !commitProblem && evidence === null;
  return (
    <div class="gate">
      {rejected !== null && <Finding tone="warn" title="The promise was rejected" text={rejected} />}
      {error !== null && <Finding tone="bad" title={`The agent failed (${error.kind})`} text={error.message} />}
      {blocked !== null && <Finding tone="bad" title="The agent gave up" text={blocked} />}
      {denied !== null && <Finding tone="warn" title={`Denied: ${denied.tools.join(', ')}`} text={denied.message} />}
      {commitProblem !== null && <Finding tone="warn" title="Not committed" text={commitProblem} />}
      {gate?.tampering.map((text) => (
        <Finding key={text} tone="bad" title="A guarded file was changed" text={text} />
      ))}
      {gate?.conflicts?.map((text) => (
        <Finding key={text} tone="warn" title="Conflict" text={text} />
      ))}
      {gate !== null && gate.accept && (
        <p class="hint">
          To accept it: <code>{gate.accept}</code>
        </p>
      )}
      {gate !== null && gate.openTasks.length > 0 && (
        <section>
          <h3>{pluralise(gate.openTaskCount ?? gate.openTasks.length, 'open task')}</h3>
          <ul>
            {gate.openTasks.map((title) => (
              <li key={title}>{title}</li>
            ))}
          </ul>
        </section>
      )}
      {gate?.runs.map((run, index) => (
        <CommandRun key={index} run={run} />
      ))}
      {gate?.review && <Review review={gate.review} />}
      {evidence !== null && (
        <section>
          <h3>The accepted promise</h3>
          <pre class="output">{evidence}</pre>
        </section>
      )}
      {mentions.length > 0 && (
        <section>
          <h3>Mentions that do not count as a promise</h3>
          <ul>
            {mentions.map((mention, index) => (
              <li key={index}>{Object.values(mention).join(': ')}</li>
            ))}
          </ul>
        </section>
      )}
      {isEmpty && <p class="empty">The agent did not promise completion, so nothing was checked.</p>}
    </div>
  );
};

/** The verdict of another agent, what it found, and what it cost. */
const Review = ({ review }: { readonly review: ReviewReport }) => {
  const { harness, model, verdict, reason, findings, attempts, durationMs, usage } = review;
  return (
    <section class="review" aria-label="Review">
      <h3>
        <span class={`status tone-${verdict === 'pass' ? 'ok' : verdict === 'fail' ? 'bad' : 'warn'}`}>
          {verdict === 'pass' ? <CheckIcon /> : verdict === 'fail' ? <CrossIcon /> : <WarningIcon />}
          {verdict?.toUpperCase() ?? 'No verdict'}
        </span>
        <span>Review by {model === null ? harness : `${harness}:${model}`}</span>
      </h3>
      <p class="quiet number">
        {[
          ...(findings.length > 0 ? [pluralise(findings.length, 'finding')] : []),
          duration(durationMs),
          ...(attempts > 1 ? [pluralise(attempts, 'attempt')] : []),
        ].join(' · ')}
        {usage !== null && (
          <>
            {' · '}
            <Cost usage={usage} />
          </>
        )}
      </p>
      {reason !== null && <p>{reason}</p>}
      {findings.length > 0 && (
        <ul>
          {findings.map((finding, index) => (
            <li key={index}>{finding}</li>
          ))}
        </ul>
      )}
    </section>
  );
};

const Finding = ({
  tone,
  title,
  text,
}: {
  readonly tone: 'warn' | 'bad';
  readonly title: string;
  readonly text: string;
}) => (
  <div class={`finding tone-${tone}`}>
    {tone === 'bad' ? <CrossIcon /> : <WarningIcon />}
    <div>
      <h3>{title}</h3>
      <p>{text}</p>
    </div>
  </div>
);

const CommandRun = ({ run }: { readonly run: GateRun }) => {
  const isPassed = hasPassed(run);
  return (
    <details class="command" open={!isPassed}>
      <summary>
        <span class={`status tone-${isPassed ? (run.outcome === 'flaky' ? 'warn' : 'ok') : 'bad'}`}>
          {isPassed ? <CheckIcon /> : <CrossIcon />}
        </span>
        <code>{run.command}</code>
        <span class="quiet">
          {words[run.outcome]}
          {run.exitCode !== null && run.exitCode !== 0 && `, exit code ${run.exitCode}`} · {duration(run.durationMs)}
        </span>
      </summary>
      {run.tail === '' ? (
        <p class="hint">Only the output of failed commands is kept.</p>
      ) : (
        <pre class="output" tabIndex={0} aria-label={`Output of ${run.command}`}>
          {run.tail}
        </pre>
      )}
    </details>
  );
};
