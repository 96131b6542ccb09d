import { useState } from 'preact/hooks';
import type { Action } from '../../api.ts';
import { useKeys } from '../parts/keys.tsx';
import { shownRunStatus } from './shown-status.ts';
import { useProject } from '../state/overview.ts';
import type { RunState } from '../state/run-state.ts';
import { ConfirmDialog } from '../steer/confirm.tsx';
import { ContextDialog } from './context-dialog.tsx';
import { ActionOutcome } from '../steer/outcome.tsx';
import { RewindDialog } from './rewind.tsx';
import { runAction } from '../steer/run-action.ts';
import { StartDialog } from '../steer/start.tsx';

type Opened = 'context' | 'start' | 'rewind' | 'stop-now' | 'land' | 'clear-context';

/** What a person can do with the run now. */
export const Steering = ({ state }: { readonly state: RunState }) => {
  const project = useProject();
  const [opened, setOpened] = useState<Opened | null>(null);
  const { detail } = state;
  const { change } = detail.row;
  const isGone = detail.row.archived || detail.row.deleted;
  const canSteer = project !== null && !project.readOnly && detail.isLatest && !isGone;
  useKeys({
    c: () => {
      if (canSteer) setOpened('context');
    },
  });
  if (project === null) return null;
  if (project.readOnly)
    return (
      <p class="hint">Read-only: spool web was started with --read-only, so runs can be watched but not steered.</p>
    );
  if (!detail.isLatest) return null;
  const close = () => setOpened(null);
  return (
    <>
      <div class="steering" role="group" aria-label="Steering">
        <Buttons state={state} open={setOpened} />
      </div>
      <ActionOutcome />
      {opened === 'context' && <ContextDialog change={change} onClose={close} />}
      {opened === 'start' && <StartDialog change={change} status={detail.status} onClose={close} />}
      {opened === 'rewind' && <RewindDialog state={state} onClose={close} />}
      {opened === 'stop-now' && (
        <ConfirmDialog
          title={`Stop ${change} now`}
          verb="Stop now"
          action={{ kind: 'stop-now', change }}
          onClose={close}
        />
      )}
      {opened === 'land' && (
        <ConfirmDialog title={`Land ${change}`} verb="Land" action={{ kind: 'land', change }} onClose={close} />
      )}
      {opened === 'clear-context' && (
        <ConfirmDialog
          title={`Clear the context of ${change}`}
          verb="Clear"
          action={{ kind: 'clear-context', change }}
          onClose={close}
        />
      )}
    </>
  );
};

const Buttons = ({ state, open }: { readonly state: RunState; readonly open: (dialog: Opened) => void }) => {
  const { detail } = state;
  const { change, branch, landed, archived, deleted } = detail.row;
  const status = shownRunStatus(detail);
  const isRunning = detail.status === 'running';
  const isGone = archived || deleted;
  const requested = detail.view?.requested ?? null;
  const isPausing = status === 'paused' || requested === 'pause';
  return (
    <>
      {!isRunning && !isGone && (
        <button type="button" class={status === 'complete' ? '' : 'primary'} onClick={() => open('start')}>
          {status === 'interrupted' ? 'Resume…' : status === 'none' ? 'Start…' : 'Start again…'}
        </button>
      )}
      {!isGone && (
        <button type="button" onClick={() => open('context')} aria-keyshortcuts="c">
          Add context…
        </button>
      )}
      {detail.context && (
        <button type="button" onClick={() => open('clear-context')}>
          Clear context…
        </button>
      )}
      {isRunning && (
        <>
          {isPausing ? (
            <ActionButton action={{ kind: 'resume', change }} label="Resume" />
          ) : (
            <ActionButton action={{ kind: 'pause', change }} label="Pause" isDisabled={requested !== null} />
          )}
          <ActionButton
            action={{ kind: 'stop-after-iteration', change }}
            label="Stop after this iteration"
            isDisabled={requested === 'stop' || requested === 'stop-after-iteration'}
          />
          <button type="button" class="danger-quiet" onClick={() => open('stop-now')}>
            Stop now…
          </button>
        </>
      )}
      {!isRunning && detail.checkpoints.length > 1 && (
        <button type="button" onClick={() => open('rewind')}>
          Rewind…
        </button>
      )}
      {!isRunning && branch !== null && landed !== true && (
        <button type="button" onClick={() => open('land')}>
          Land…
        </button>
      )}
    </>
  );
};

const ActionButton = ({
  action,
  label,
  isDisabled = false,
}: {
  readonly action: Action;
  readonly label: string;
  readonly isDisabled?: boolean;
}) => {
  const [isBusy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await runAction(action);
    setBusy(false);
  };
  return (
    <button type="button" disabled={isBusy || isDisabled} onClick={() => void press()}>
      {label}
    </button>
  );
};
