import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** Calls a function for a key, except while a text is typed or a dialog is open. */
export const useKeys = (keys: Keys): void => {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const target = event.target instanceof HTMLElement ? event.target : null;
      if (target?.closest('input, textarea, select') && event.key !== 'Escape') return;
      const act = latest.current[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act(event);
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
};

/** Moves the focus among the links of a list. */
export const moveFocus = (selector: string, step: 1 | -1): void => {
  const links = [...document.querySelectorAll<HTMLElement>(selector)];
  const at = links.findIndex((link) => link === document.activeElement);
  const next = at === -1 ? (step === 1 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step));
  links[next]?.focus();
  links[next]?.scrollIntoView({ block: 'nearest' });
};

const listed: readonly (readonly [string, string])[] = [
  ['j  k', 'Next and previous change, or iteration'],
  ['Enter', 'Open'],
  ['Esc', 'Back; closes a dialog'],
  ['/', 'Filter changes'],
  ['l', 'Jump to the latest iteration'],
  ['c', 'Add context'],
  ['1 – 6', 'Conversation, diff, gate, prompt, log, handover notes'],
  ['← →', 'In a chart: previous and next value'],
  ['+ − 0', 'In a chart: zoom in, out, reset'],
  ['?', 'This list'],
];

/** The list of keys, which `?` opens. */
export const KeyHelp = () => {
  const [isOpen, setOpen] = useState(false);
  useKeys({ '?': () => setOpen(true) });
  return (
    <>
      <button
        type="button"
        class="icon-button"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={() => setOpen(true)}
      >
        ?
      </button>
      {isOpen && (
        <Dialog title="Keyboard shortcuts" onClose={() => setOpen(false)}>
          <table class="keys">
            <tbody>
              {listed.map(([key, what]) => (
                <tr key={key}>
                  <th scope="row">
                    <kbd>{key}</kbd>
                  </th>
                  <td>{what}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <div class="dialog-buttons">
            <button type="button" class="primary" onClick={() => setOpen(false)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
};
