/** What is drawn on a terminal that a shell takes back while this process is suspended. */
export interface Drawing {
  /** Removes it, right before the process stops. */
  hide(): void;
  /** Draws it again at the cursor. */
  show(): void;
}

const drawings = new Set<Drawing>();

/**
 * Hides a drawing when the user presses Ctrl-Z, and draws it again when the process continues, until the returned function
 * is called. Agents run in separate sessions, so they continue.
 */
export const whileSuspended = (drawing: Drawing): (() => void) => {
  if (drawings.size === 0) {
    process.on('SIGTSTP', suspend);
    process.on('SIGCONT', showAll);
  }
  drawings.add(drawing);
  return () => {
    drawings.delete(drawing);
    if (drawings.size > 0) return;
    process.off('SIGTSTP', suspend);
    process.off('SIGCONT', showAll);
  };
};

/** Does what Ctrl-Z does, for a terminal in raw mode. Its shell sees all processes of the job stop. */
export const suspendJob = (): void => {
  if (process.platform !== 'win32') process.kill(0, 'SIGTSTP');
};

const suspend = (): void => {
  // The last one may be drawn inside of an earlier one.
  for (const drawing of [...drawings].toReversed()) drawing.hide();
  // Without a listener, the signal stops the process, and the shell is told which one it was.
  process.off('SIGTSTP', suspend);
  process.kill(process.pid, 'SIGTSTP');
  process.on('SIGTSTP', suspend);
};

const showAll = (): void => {
  for (const drawing of drawings) drawing.show();
};
