import { useState } from 'preact/hooks';
import { Diff } from './diff/diff.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { outcomeLook } from '../parts/status.tsx';
import { runPath } from '../state/client.ts';
import { lastCheckpoint } from './checkpoints.ts';
import type { RunState } from '../state/run-state.ts';
import { Confirmation } from '../steer/confirm.tsx';

/** Takes the files back to how they were after an iteration. */
export const RewindDialog = ({ state, onClose }: { readonly state: RunState; readonly onClose: () => void }) => {
  const { detail, iterations } = state;
  const names = detail.checkpoints;
  const last = lastCheckpoint(names);
  const [chosen, choose] = useState<string | null>(null);
  // Checkpoints may still be added to the list while the dialog is open.
  const to = chosen ?? String(Math.max(0, last - 1));
  const [isShown, setShown] = useState(false);
  const { change } = detail.row;
  const about = (name: string) => {
    if (name === '0') return 'before the first iteration';
    const one = iterations.find(({ iteration }) => String(iteration) === name);
    return name.startsWith('r')
      ? `before rewind ${name.slice(1)}`
      : `after iteration ${name}${one ? ` (${outcomeLook(one.outcome).word.toLowerCase()})` : ''}`;
  };
  return (
    <Dialog title={`Rewind ${change}`} onClose={onClose} wide>
      <div class="field">
        <label for="rewind-to">Back to the files as they were</label>
        <select id="rewind-to" value={to} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {names.toReversed().map((name) => (
            <option key={name} value={name}>
              {about(name)}
            </option>
          ))}
        </select>
      </div>
      <Confirmation verb="Rewind" action={{ kind: 'rewind', change, run: detail.run, to }} onClose={onClose}>
        <details class="preview-diff" onToggle={({ currentTarget }) => setShown(currentTarget.open)}>
          <summary>Lines that differ between the two checkpoints</summary>
          {isShown && <Diff key={to} path={runPath(change, detail.run)} range={{ from: String(last), to }} />}
        </details>
      </Confirmation>
    </Dialog>
  );
};
