import { useState } from 'preact/hooks';
import type { Action, RowStatus, StartOptions } from '../../api.ts';
import { isResumable } from '../../../ralph/view.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Confirmation } from './confirm.tsx';

/** Starts a run, or continues an interrupted one: first the settings, then what will happen. */
export const StartDialog = ({
  change,
  status,
  onClose,
}: {
  readonly change: string;
  readonly status: RowStatus;
  readonly onClose: () => void;
}) => {
  const canResume = isResumable({ status });
  const [action, setAction] = useState<Action | null>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setAction({ kind: 'start', change, ...optionsOf(new FormData(event.currentTarget as HTMLFormElement)) });
  };
  return (
    <Dialog title={canResume ? `Resume ${change}` : `Start ${change}`} onClose={onClose} wide>
      <form onSubmit={submit} hidden={action !== null}>
        <label for="start-prompt">Prompt, in addition to the documents of the change</label>
        <textarea id="start-prompt" name="prompt" rows={3} placeholder="Optional" />
        <div class="fields">
          <Field name="harness" label="Agent" placeholder="as configured" />
          <Field name="model" label="Model" placeholder="as configured" />
          <Field name="maxIterations" label="Max. iterations" placeholder="as configured" type="number" min={1} />
          <Field
            name="maxCostUsd"
            label="Max. cost in $"
            placeholder="as configured"
            type="number"
            min={0}
            step="any"
          />
          <Field name="maxDuration" label="Max. duration" placeholder="as configured, such as 8h" />
        </div>
        {canResume && (
          <label class="check">
            <input type="checkbox" name="fresh" /> Start a new run instead of resuming
          </label>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Preview
          </button>
        </div>
      </form>
      {action !== null && (
        <Confirmation
          verb={canResume ? 'Resume' : 'Start'}
          action={action}
          onBack={() => setAction(null)}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
};

const Field = ({
  name,
  label,
  ...rest
}: { readonly name: string; readonly label: string } & preact.JSX.IntrinsicElements['input']) => (
  <div class="field">
    <label for={`start-${name}`}>{label}</label>
    <input {...rest} id={`start-${name}`} name={name} autoComplete="off" />
  </div>
);

const optionsOf = (form: FormData): StartOptions => {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const words = Object.fromEntries(
    ['prompt', 'harness', 'model', 'maxDuration'].map((name) => [name, text(name)]).filter(([, value]) => value !== ''),
  ) as StartOptions;
  const numbers = Object.fromEntries(
    ['maxIterations', 'maxCostUsd'].filter((name) => text(name) !== '').map((name) => [name, Number(text(name))]),
  ) as StartOptions;
  return { ...words, ...numbers, ...(form.has('fresh') && { fresh: true }) };
};
