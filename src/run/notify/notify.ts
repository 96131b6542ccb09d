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
  'project' | 'options' | 'plan' | 'tag' | 'env' | 'reporter' | 'folder' | 'stopSignals' | 'redactor' | 'trusted'
>;

export interface Sending {
  /** Aborted to give up. */
  readonly stop: AbortSignal;
  /** Marks the processes of this message. Several messages are sent at the same time. */
  readonly tag: string;
}

export interface Sent {
  /** What went wrong, or null. */
  readonly problem: string | null;
  /** What a program printed, without secrets. */
  readonly output?: string;
  /** Explains a problem on the terminal. */
  readonly hint?: string;
}

/** Sends a message. Resolves to null if it was not sent, and that was reported. */
export type Send = (message: NotifyMessage, sending: Sending) => Promise<Sent | null>;

/** Called before an agent starts. */
export const createNotifier = async (context: NotifyContext): Promise<Notifier> => {
  const { options, stopSignals, redactor } = context;
  const wanted = new Set<string>(options.notifyOn);
  const senders = await Promise.all(options.notify.map((target) => createSender(target, context)));
  const pending = new Set<Promise<unknown>>();
  // A limit that lasts makes the run wait several times.
  let hasWaited = false;
  let sent = 0;

  const send = (news: ReturnType<typeof newsOfEnd>, view: RunView) => {
    if (wanted.size > 0 && !wanted.has(news.kind)) return;
    const message = messageOf(news, view, redactor);
    for (const sender of senders) {
      // Continues after Ctrl-C, unless it is pressed twice.
      const call = { stop: stopSignals.kill, tag: `${context.tag}/notify-${++sent}` };
      const sending = sender(message, call).finally(() => pending.delete(sending));
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
  return async (message: NotifyMessage, sending: Sending): Promise<void> => {
    const sent = await send(message, sending).catch((error: unknown) => ({ problem: systemProblem(error) }) as Sent);
    if (sent === null) return;
    const { problem, output = '', hint = '' } = sent;
    const result = problem ?? (target.kind === 'command' ? 'done' : 'sent');
    log(context, `${message.kind} to ${describeTarget(text)}: ${result}`, output);
    if (problem !== null && problem !== lastProblem) {
      const why = context.redactor.oneLine(problem);
      const command = `the --notify command failed (${why}); see ${notifyLog(context.folder)}${hint}`;
      context.reporter.warn(
        `spool: ${target.kind === 'command' ? command : `notify ${describeTarget(text)} failed: ${why}`}`,
      );
    }
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
        return { problem: null };
      };
    default:
      return (await import('./post.ts')).createPoster(target);
  }
};

/** Appends one entry: a line, and indented below it what a program printed. */
const log = ({ folder, redactor }: NotifyContext, line: string, output: string): void => {
  const printed = output.trim() === '' ? '' : `  ${output.trimEnd().replaceAll('\n', '\n  ')}\n`;
  try {
    if (!existsSync(folder)) return;
    const file = openSafely(notifyLog(folder), 'append');
    writeAll(file, `${new Date().toISOString()} ${redactor.oneLine(line)}\n${printed}`);
    closeSync(file);
  } catch {
    // The disk may be full. The problem itself is reported.
  }
};
