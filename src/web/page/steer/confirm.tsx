import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Action, ActionPreview } from '../../api.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { type Answer, previewAction } from '../state/client.ts';
import { OutcomeText } from './outcome.tsx';
import { type Outcome, runFromDialog } from './run-action.ts';

interface ConfirmationProps {
  /** On the button: `Rewind`. */
  readonly verb: string;
  readonly action: Action;
  /** Shows again what was asked before. */
  readonly onBack?: () => void;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/** Shows what an action will do, as the server says, and does it on a second press. */
export const ConfirmDialog = ({ title, ...rest }: ConfirmationProps & { readonly title: string }) => (
  <Dialog title={title} onClose={rest.onClose} wide>
    <Confirmation {...rest} />
  </Dialog>
);

/** What takes something away has a red button. */
const destructive: ReadonlySet<Action['kind']> = new Set(['stop-now', 'rewind', 'clear-context']);

export const Confirmation = ({ verb, action, onBack, onClose, children }: ConfirmationProps) => {
  const buttons = useRef<HTMLDivElement>(null);
  const [answer, setAnswer] = useState<Answer<ActionPreview> | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Outcome | null>(null);
  const key = JSON.stringify(action);
  useEffect(() => {
    const abort = new AbortController();
    setAnswer(null);
    setFailure(null);
    void previewAction(action, abort.signal).then((next) => !abort.signal.aborted && setAnswer(next));
    return () => abort.abort();
  }, [key]);
  useEffect(() => {
    // The button that led here is hidden now.
    if (onBack) buttons.current?.querySelector('button')?.focus();
  }, []);
  const token = answer?.ok ? answer.value.token : null;
  const confirm = async () => {
    setBusy(true);
    const outcome = await runFromDialog(action, token);
    setBusy(false);
    if (outcome.ok) onClose();
    else setFailure(outcome);
  };
  return (
    <>
      {answer === null && <Loading what="Asking what will happen" />}
      {answer !== null && !answer.ok && <Failure problem={answer.problem} />}
      {answer?.ok && <Preview preview={answer.value} />}
      {failure !== null && <OutcomeText outcome={failure} />}
      {children}
      <div class="dialog-buttons" ref={buttons}>
        {onBack && (
          <button type="button" onClick={onBack}>
            Back
          </button>
        )}
        <button type="button" onClick={onClose}>
          {failure === null ? 'Cancel' : 'Close'}
        </button>
        {/* A confirmation is valid once. */}
        <button
          type="button"
          class={destructive.has(action.kind) ? 'danger' : 'primary'}
          disabled={token === null || isBusy || failure !== null}
          onClick={() => void confirm()}
        >
          {isBusy ? `${verb}…` : verb}
        </button>
      </div>
    </>
  );
};

const Preview = ({ preview }: { readonly preview: ActionPreview }) => (
  <div class="preview">
    {preview.token === null ? (
      <p class="notice tone-bad">This cannot be done now.</p>
    ) : (
      preview.lines.map((line) => <p key={line}>{line}</p>)
    )}
    {preview.output !== '' && (
      <pre class="output" tabIndex={0} aria-label="Output of the dry run">
        {preview.output}
      </pre>
    )}
    <p class="hint">
      Same as <code>{preview.command}</code>
    </p>
  </div>
);
