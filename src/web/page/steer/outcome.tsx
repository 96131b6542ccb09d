import { useEffect } from 'preact/hooks';
import { useStore } from '../state/store.ts';
import { lastOutcome, type Outcome } from './run-action.ts';

/** What became of the last action, until it is dismissed or another view is shown. */
export const ActionOutcome = () => {
  const outcome = useStore(lastOutcome);
  const dismiss = () => lastOutcome.set(null);
  useEffect(() => dismiss, []);
  if (outcome === null) return null;
  return (
    <OutcomeText outcome={outcome}>
      <button type="button" class="small" onClick={dismiss}>
        Dismiss
      </button>
    </OutcomeText>
  );
};

export const OutcomeText = ({
  outcome,
  children,
}: {
  readonly outcome: Outcome;
  readonly children?: preact.ComponentChildren;
}) => (
  <div class={`action-outcome tone-${outcome.ok ? 'ok' : 'bad'}`}>
    <div>
      <code>{outcome.title}</code>
      {outcome.output !== '' && <pre>{outcome.output}</pre>}
    </div>
    {children}
  </div>
);
