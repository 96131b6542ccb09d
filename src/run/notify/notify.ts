import { closeSync, existsSync } from 'node:fs';
import { describeTarget, type NotifyTarget, parseTarget } from '../../config/notify-targets.ts';
import { systemProblem } from '../../errors.ts';
import { openSafely, writeAll } from '../../files/safe.ts';
import type { RunEvent } from '../../ralph/events.ts';
import type { RunView } from '../../ralph/view.ts';
import { notifyLog } from '../../store/paths.ts';
import type { RunContext } from '../context.ts';
import { messageOf, newsOf, newsOfEnd, type NotifyMessage } from './message.ts';

/** Tells the user what happens in a run. A failure is reported and changes nothing. */
export interface Notifier {
  /** Sends in the background what an event has to tell. */
  onEvent(event: RunEvent, view: RunView): void;
  /** Tells how the run ended. Resolves when everything is sent, or has failed. */
  ended(view: RunView): Promise<void>;
}

export type NotifyContext = Pick<
  RunContext,
  'project' | 'options' | 'plan' | 'env' | 'reporter' | 'folder' | 'stopSignals' | 'redactor' | 'trusted'
>;

/** Sends a message. Resolves to what went wrong, or null. `stop` is aborted to give up. */
export type Send = (message: NotifyMessage, stop: AbortSignal) => Promise<string | null>;

/** Called before an agent starts. */
export const createNotifier = async (context: NotifyContext): Promise<Notifier> => {
  const { options, stopSignals, redactor } = context;
  const wanted = new Set<string>(options.notifyOn);
  const senders = await Promise.all(options.notify.map((target) => createSender(target, context)));
  const pending = new Set<Promise<unknown>>();
  // A limit that lasts makes the run wait several times.
  let hasWaited = false;

  const send = (news: ReturnType<typeof newsOfEnd>, view: RunView) => {
    if (wanted.size > 0 && !wanted.has(news.kind)) return;
    const message = messageOf(news, view, redactor);
    for (const sender of senders) {
      // Goes on after Ctrl-C, unless it is pressed twice.
      const sending = sender(message, stopSignals.kill).finally(() => pending.delete(sending));
      pending.add(sending);
    }
  };
  return {
    onEvent: (event, view) => {
      const news = newsOf(event, Date.now());
      if (event.type === 'iteration-finished') hasWaited = false;
      if (news === null || (news.kind === 'waiting' && hasWaited)) return;
      hasWaited ||= news.kind === 'waiting';
      send(news, view);
    },
    ended: async (view) => {
      send(newsOfEnd(view), view);
      await Promise.all(pending);
    },
  };
};

/** Returns a function that sends, reports a problem unless it is the same as last time, and never rejects. */
const createSender = async (text: string, context: NotifyContext) => {
  const target = parseTarget(text)!;
  const send = await senderFor(target, context);
  let lastProblem: string | null = null;
  return async (message: NotifyMessage, stop: AbortSignal): Promise<void> => {
    const problem = await send(message, stop).catch((error: unknown) => systemProblem(error));
    if (target.kind !== 'command') log(context, `${message.kind} to ${describeTarget(text)}: ${problem ?? 'sent'}`);
    if (problem !== null && problem !== lastProblem)
      context.reporter.warn(`spool: notify ${describeTarget(text)} failed: ${context.redactor.oneLine(problem)}`);
    lastProblem = problem;
  };
};

/** What is not used is not loaded. */
const senderFor = async (target: NotifyTarget, context: NotifyContext): Promise<Send> => {
  switch (target.kind) {
    case 'command':
      return (await import('./command.ts')).prepareCommand(target.command, context);
    case 'desktop':
      return (await import('./desktop.ts')).createDesktopSender(context);
    case 'bell':
      return async () => {
        context.reporter.bell?.();
        return null;
      };
    default:
      return (await import('./post.ts')).createPoster(target);
  }
};

const log = ({ folder, redactor }: NotifyContext, line: string): void => {
  try {
    if (!existsSync(folder)) return;
    const file = openSafely(notifyLog(folder), 'append');
    writeAll(file, `${new Date().toISOString()} ${redactor.oneLine(line)}\n`);
    closeSync(file);
  } catch {
    // The disk may be full. The problem itself is reported.
  }
};
