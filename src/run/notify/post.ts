import { setTimeout as delay } from 'node:timers/promises';
import type { NotifyTarget } from '../../config/notify-targets.ts';
import { payloadOf, type NotifyMessage } from './message.ts';
import type { Send } from './notify.ts';

type WebTarget = Extract<NotifyTarget, { readonly url: URL }>;

interface Timing {
  /** Waits before the second attempt and the following ones. */
  readonly retryDelaysMs: readonly number[];
  /** For one attempt. */
  readonly attemptMs: number;
  /** For all attempts together. */
  readonly maxMs: number;
}

const patience: Timing = { retryDelaysMs: [500, 1000, 2000], attemptMs: 10_000, maxMs: 25_000 };

/** Sends a message to a server, and tries again if the server cannot be reached or is busy. */
export const createPoster =
  (target: WebTarget, { retryDelaysMs, attemptMs, maxMs } = patience): Send =>
  async (message, { stop }) => {
    const request = requestOf(target, message);
    const deadline = AbortSignal.any([stop, AbortSignal.timeout(maxMs)]);
    for (const waitMs of [...retryDelaysMs, null]) {
      const { problem, isFinal } = await post(request, deadline, AbortSignal.timeout(attemptMs));
      if (problem === null || isFinal || waitMs === null) return { problem };
      const isOver = await delay(waitMs, false, { signal: deadline }).catch(() => true);
      if (isOver) return { problem };
    }
    return { problem: null };
  };

interface Request {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const requestOf = (target: WebTarget, message: NotifyMessage): Request => {
  const url = new URL(target.url);
  const { username, password } = url;
  // A URL with credentials cannot be fetched.
  url.username = '';
  url.password = '';
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    url,
    headers: {
      'content-type': 'application/json',
      ...(username === '' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
    body: JSON.stringify(bodyOf(target, message)),
  };
};

const bodyOf = (target: WebTarget, message: NotifyMessage): object => {
  const { kind, title, text } = message;
  switch (target.kind) {
    case 'url':
      return payloadOf(message);
    case 'slack':
      return { text: `*${escapeSlack(title)}*\n${escapeSlack(text)}` };
    case 'ntfy':
      return { topic: target.topic, title, message: text, tags: [tags[kind]], priority: kind === 'rejected' ? 2 : 3 };
  }
};

/** Names of emoji. */
const tags: Readonly<Record<NotifyMessage['kind'], string>> = {
  complete: 'white_check_mark',
  blocked: 'no_entry',
  failed: 'x',
  limit: 'stop_sign',
  interrupted: 'hand',
  waiting: 'hourglass',
  rejected: 'leftwards_arrow_with_hook',
};

/** An agent must not be able to mention everybody. */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

interface Delivery {
  readonly problem: string | null;
  /** Trying again would not help. */
  readonly isFinal: boolean;
}

const post = async (
  { url, headers, body }: Request,
  deadline: AbortSignal,
  timeout: AbortSignal,
): Promise<Delivery> => {
  try {
    const signal = AbortSignal.any([deadline, timeout]);
    // A message goes only where the user sends it.
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    await response.body?.cancel();
    if (response.ok) return { problem: null, isFinal: true };
    const isBusy = response.status >= 500 || [408, 425, 429].includes(response.status);
    return { problem: `HTTP ${response.status}`, isFinal: !isBusy };
  } catch (error) {
    if (timeout.aborted || deadline.aborted) return { problem: 'no answer in time', isFinal: deadline.aborted };
    return { problem: networkProblem(error), isFinal: false };
  }
};

/** `fetch failed` has the reason as its cause. */
const networkProblem = (error: unknown): string => {
  const { cause } = error as { cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? 'the server cannot be reached';
};
