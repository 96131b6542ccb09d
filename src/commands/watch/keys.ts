import { emitKeypressEvents, type Key as ReadlineKey } from 'node:readline';

/** A key that was pressed. */
export interface Key {
  /** Such as `up`, `return`, `escape`, `backspace`; empty for a character without a name. */
  readonly name: string;
  readonly ctrl: boolean;
  /** The characters that it types; empty if it types none. */
  readonly text: string;
}

export interface Keys {
  /** Gives the terminal back to the shell, for the time in which the process is suspended. */
  readonly pause: () => void;
  readonly resume: () => void;
  readonly dispose: () => void;
}

/** Reads keys one by one, without echo. Ctrl-C and Ctrl-Z are keys like any other until `dispose`. */
export const readKeys = (onKey: (key: Key) => void): Keys => {
  const { stdin } = process;
  const listen = (typed: string | undefined, key: ReadlineKey | undefined) =>
    onKey({ name: key?.name ?? '', ctrl: key?.ctrl ?? false, text: isText(typed, key) ? typed! : '' });
  emitKeypressEvents(stdin);
  stdin.setRawMode(true);
  stdin.on('keypress', listen);
  stdin.resume();
  return {
    pause: () => void stdin.setRawMode(false),
    resume: () => {
      // Node sets a mode only if it differs from the last one it has set. The shell may have set another since.
      stdin.setRawMode(false);
      stdin.setRawMode(true);
    },
    dispose: () => {
      stdin.off('keypress', listen);
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
};

const isText = (typed: string | undefined, key: ReadlineKey | undefined): boolean =>
  typed !== undefined && !key?.ctrl && !key?.meta && !/\p{C}/u.test(typed);
