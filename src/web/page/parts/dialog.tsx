import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

/** A modal dialog, open as long as it is rendered. Escape and a press outside call `onClose`. */
export const Dialog = ({
  title,
  onClose,
  children,
  wide = false,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Not a later effect: another part of the page may move the focus until then.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    return () => {
      element?.close();
      // What opened it may be gone: a run that was stopped has no button to stop it.
      const back = before instanceof HTMLElement && before.isConnected ? before : document.querySelector('main');
      back?.focus();
    };
  }, []);
  const cancelled = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  const pressed = (event: MouseEvent) => {
    if (event.target === dialog.current) onClose();
  };
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-labelledby={id} onCancel={cancelled} onMouseDown={pressed}>
      <div class="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
};
