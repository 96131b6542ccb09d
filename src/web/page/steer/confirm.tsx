import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Action, ActionPreview } from '../../api.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { type Answer, previewAction } from '../state/client.ts';
import { runAction } from './run-action.ts';

/** Shows what an action will do, as the server says, and does it on a second press. */
export const ConfirmDialog = ({
  title,
  verb,
  action,
  onClose,
  children,
}: {
  readonly title: string;
  /** On the button: `Rewind`. */
  readonly verb: string;
  readonly action: Action;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}) => (
  <Dialog title={title} onClose={onClose} wide>
    <Confirmation verb={verb} action={action} onClose={onClose}>
      {children}
    </Confirmation>
  </Dialog>
);

export const Confirmation = ({
  verb,
  action,
  onClose,
  children,
}: {
  readonly verb: string;
  readonly action: Action;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}) => {
  const [answer, setAnswer] = useState<Answer<ActionPreview> | null>(null);
  const [isBusy, setBusy] = useState(false);
  const key = JSON.stringify(action);
  useEffect(() => {
    const abort = new AbortController();
    setAnswer(null);
    void previewAction(action, abort.signal).then((next) => !abort.signal.aborted && setAnswer(next));
    return () => abort.abort();
  }, [key]);
  const token = answer?.ok ? answer.value.token : null;
  const confirm = async () => {
    setBusy(true);
    await runAction(action, token);
    onClose();
  };
  return (
    <>
      {answer === null && <Loading what="Asking what will happen" />}
      {answer !== null && !answer.ok && <Failure problem={answer.problem} />}
      {answer?.ok && <Preview preview={answer.value} />}
      {children}
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="danger" disabled={token === null || isBusy} onClick={() => void confirm()}>
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
