import { userError } from '../../errors.ts';
import type { Display } from '../../report/display.ts';
import type { Consent } from '../../run/require-trust.ts';
import type { Person } from '../../run/services.ts';
import { detachedVariable, type FromBackground, type ToBackground } from './detach-messages.ts';

/** The process that started this one in the background. It exits when a run has started. */
export interface Foreground {
  readonly consent: Consent;
  /** null if there is no one to ask. */
  readonly person: Person | null;
  /** Tells it about notices and about the start of the run. */
  watch(display: Display): Display;
}

/** Returns null for a command that was not started by `--detach`. */
export const connectForeground = (env: NodeJS.ProcessEnv): Foreground | null => {
  const mode = env[detachedVariable];
  // Agents must not inherit it.
  delete env[detachedVariable];
  if (mode === undefined || !process.send) return null;
  let isStarted = false;
  // It was interrupted while it waited for the start.
  const leave = () => process.kill(process.pid, 'SIGTERM');
  process.once('disconnect', leave);
  // The listener would keep this process alive.
  process.channel?.unref();
  const tell = (message: FromBackground): void => {
    if (process.connected) process.send?.(message);
  };
  const ask = async (message: FromBackground): Promise<ToBackground['answer']> => {
    if (!process.connected) throw userError('cancelled', 'no one can be asked any more');
    const answered = new Promise<ToBackground>((resolve) =>
      process.once('message', (each) => resolve(each as ToBackground)),
    );
    process.channel?.ref();
    tell(message);
    const { answer } = await answered;
    process.channel?.unref();
    return answer;
  };
  const canAsk = mode === 'ask';
  return {
    consent: {
      say: (lines) => tell({ type: 'say', lines }),
      confirm: canAsk ? async (question) => (await ask({ type: 'confirm', question })) === true : null,
    },
    person: canAsk
      ? {
          agreesToResume: async (view) => (await ask({ type: 'resume', view })) === true,
          chooseUntil: async (passed) => {
            const answer = await ask({ type: 'until', passed });
            return typeof answer === 'string' ? answer : null;
          },
        }
      : null,
    watch: (display) => ({
      ...display,
      onEvent: (event, view) => {
        if (!isStarted && event.type === 'notice') tell({ type: 'notice', text: event.text });
        if (!isStarted && event.type === 'run-started') {
          isStarted = true;
          process.off('disconnect', leave);
          tell({ type: 'started', change: view.change, run: view.run });
        }
        display.onEvent(event, view);
      },
    }),
  };
};
