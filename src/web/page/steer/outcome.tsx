import { useStore } from '../state/store.ts';
import { lastOutcome } from './run-action.ts';

export const ActionOutcome = () => {
  const outcome = useStore(lastOutcome);
  if (outcome === null) return null;
  return (
    <div class={`action-outcome tone-${outcome.ok ? 'ok' : 'bad'}`}>
      <div>
        <code>{outcome.title}</code>
        {outcome.output !== '' && <pre>{outcome.output}</pre>}
      </div>
      <button type="button" class="small" onClick={() => lastOutcome.set(null)}>
        Dismiss
      </button>
    </div>
  );
};
