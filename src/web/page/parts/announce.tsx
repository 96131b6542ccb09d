import { createStore, useStore } from '../state/store.ts';

const message = createStore('');

/** Has screen readers say something, without moving the focus. */
export const announce = (text: string): void => message.set(text);

export const Announcer = () => (
  <div class="visually-hidden" role="status" aria-live="polite">
    {useStore(message)}
  </div>
);
