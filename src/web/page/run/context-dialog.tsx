import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { OutcomeText } from '../steer/outcome.tsx';
import { type Outcome, runFromDialog } from '../steer/run-action.ts';

/** Says a word to the agent. */
export const ContextDialog = ({ change, onClose }: { readonly change: string; readonly onClose: () => void }) => {
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Outcome | null>(null);
  const send = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === '' || isBusy) return;
    setBusy(true);
    const outcome = await runFromDialog({ kind: 'add-context', change, text });
    setBusy(false);
    if (outcome.ok) onClose();
    else setFailure(outcome);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send(event);
  };
  return (
    <Dialog title="Add context" onClose={onClose}>
      <form onSubmit={(event) => void send(event)}>
        <label for="context">The agent reads it from its next iteration on, until it is cleared.</label>
        <textarea
          id="context"
          rows={6}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={pressed}
          placeholder="Use the existing parser in src/parse.ts"
          required
        />
        {failure !== null && <OutcomeText outcome={failure} />}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy || text.trim() === ''} title="Ctrl+Enter">
            Add
          </button>
        </div>
      </form>
    </Dialog>
  );
};
