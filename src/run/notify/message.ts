import type { NotifyKind } from '../../config/notify-targets.ts';
import type { RunEvent } from '../../ralph/events.ts';
import { spentUsage } from '../../ralph/usage.ts';
import { publicView, type RunView } from '../../ralph/view.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { clockTime, duration, pluralise } from '../../text/format.ts';

/** A notification. Has no secrets. */
export interface NotifyMessage {
  readonly kind: NotifyKind;
  /** Why it ended, waits, or was rejected. */
  readonly detail: string;
  /** `002-01_add-ralph-loop: complete` */
  readonly title: string;
  /** `detail` and the figures of the run. */
  readonly text: string;
  readonly view: RunView;
}

interface News {
  readonly kind: NotifyKind;
  readonly detail: string;
}

/** A shorter wait is not worth a notification. */
const longWaitMs = 5 * 60_000;

/** Returns what an event of a running loop has to tell; null if nothing. */
export const newsOf = (event: RunEvent, nowMs: number): News | null => {
  if (event.type === 'waiting' && event.untilMs - nowMs >= longWaitMs)
    return { kind: 'waiting', detail: `${event.why}; resuming at ${clockTime(new Date(event.untilMs))}` };
  if (event.type === 'iteration-finished' && event.record.rejected !== null)
    return { kind: 'rejected', detail: event.record.rejected };
  return null;
};

/** Returns what the end of a run has to tell. */
export const newsOfEnd = ({ status, detail }: RunView): News => ({
  kind: status === 'running' ? 'failed' : status,
  detail: detail ?? '',
});

const titles: Readonly<Record<NotifyKind, string>> = {
  complete: 'complete',
  blocked: 'blocked',
  failed: 'failed',
  limit: 'stopped at a limit',
  interrupted: 'interrupted',
  waiting: 'waiting',
  rejected: 'completion promise rejected',
};

/** A phone shows only the beginning, and services refuse long messages. */
const maxDetail = 500;

export const messageOf = ({ kind, detail }: News, whole: RunView, redactor: Redactor): NotifyMessage => {
  const view = publicView(whole, redactor.data);
  const short = redactor.beginningOf(detail, maxDetail);
  return {
    kind,
    detail: redactor.text(detail),
    title: `${view.change}: ${titles[kind]}`,
    text: [short, figuresOf(view)].filter((line) => line !== '').join('\n'),
    view,
  };
};

/** `8 iterations in 6m 45s · 7/7 tasks · $0.04` */
const figuresOf = (view: RunView): string => {
  const cost = spentUsage(view)?.costUsd ?? null;
  return [
    `${pluralise(view.finishedIterations, 'iteration')} in ${duration(view.elapsedMs)}`,
    ...(view.tasks === null ? [] : [`${view.tasks.done}/${view.tasks.total} tasks`]),
    ...(cost === null ? [] : [`$${cost.toFixed(2)}`]),
  ].join(' · ');
};

/** The JSON that a URL receives. Names are a contract; missing values are null. */
export const payloadOf = ({ kind, detail, title, text, view }: NotifyMessage) => ({
  v: 1,
  event: kind,
  change: view.change,
  run: view.run,
  status: view.status,
  cause: view.cause,
  detail,
  title,
  text,
  iteration: view.iteration,
  finishedIterations: view.finishedIterations,
  tasks: view.tasks,
  usage: spentUsage(view),
  elapsedMs: view.elapsedMs,
  startedAt: view.startedAt,
  endedAt: view.endedAt,
});
