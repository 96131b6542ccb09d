import type { AgentErrorKind, AgentEvent } from '../ralph/agent-events.ts';
import type { DecodedEvent, DenialDetails } from './decoded-event.ts';
import { resetTime, retryAfter } from './reset-time.ts';

export interface Problem {
  readonly message: string;
  /** The HTTP status of the provider, if the agent reports it. */
  readonly status?: number | null;
  /** The headers of the response of the provider, if the agent reports them. */
  readonly headers?: Readonly<Record<string, unknown>> | null;
  /** Set if the agent reports the kind itself. */
  readonly kind?: AgentErrorKind | undefined;
}

type ErrorEvent = AgentEvent & { readonly type: 'error' };

/**
 * Creates an error event. Its kind is the one reported by the agent, or follows from the status or the message. The
 * diagnosis shortens the message.
 */
export const problemEvent = ({ message, status = null, headers = null, ...said }: Problem): ErrorEvent => {
  const kind = said.kind ?? (status === null ? kindOfWords(message) : kindOfStatus(status, message));
  const now = new Date();
  const resetsAtMs = kind === 'rate-limit' ? (retryAfter(headers ?? {}, now) ?? resetTime(message, now)) : null;
  return {
    type: 'error',
    kind,
    message: status === null || message.includes(String(status)) ? message : withStatus(message, status),
    ...(resetsAtMs === null ? {} : { resetsAtMs }),
  };
};

/** In characters. The response of a provider can be a whole page. */
export const maxMessage = 2000;

const withStatus = (message: string, status: number): string =>
  message.length > maxMessage ? `HTTP ${status}: ${message}` : `${message} (HTTP ${status})`;

export const truncated = (agent: string, why: string): AgentEvent => ({
  type: 'error',
  kind: 'truncated',
  message: `${agent} stopped in the middle of its work (${why})`,
});

/** The diagnosis adds the advice and the tools denied before. */
export const denied = (agent: string, tool: string, facts: { byRule?: true } & DenialDetails = {}): DecodedEvent => ({
  type: 'denied',
  tool,
  ...facts,
  message: notAllowed(agent, [tool]),
});

export const notAllowed = (agent: string, tools: readonly string[]): string =>
  `${agent} isn't allowed to use ${tools.join(', ')}`;

const kindOfStatus = (status: number, message: string): AgentErrorKind => {
  if (status === 401 || status === 403) return 'auth';
  if (status === 404) return 'model';
  if (status === 429) return 'rate-limit';
  if (status >= 500) return 'overload';
  return kindOfWords(message);
};

/** The first match wins: a rate limit may also mention how to sign in. */
const words: readonly (readonly [RegExp, AgentErrorKind])[] = [
  [
    /\b429\b|rate.?limit|(usage|session|weekly|spend(ing)?) limit|limit reached|hit your .{0,20}limit|(?<!disk )quota|too many requests|resource.?exhausted/i,
    'rate-limit',
  ],
  [/context.?(length|window)|prompt is too long|maximum context|too many tokens/i, 'context'],
  [
    /(status|error|http)\W{0,3}(401|403)\b|^40[13]\b|"code":40[13]\b|unauthor|authenticat|auth (type|method)|\blogg?(ed)? ?in\b|api.?key/i,
    'auth',
  ],
  [
    /\b404\b|model.{0,60}(not.(found|supported|available)|does not exist|unknown)|(unknown|cannot find) model/i,
    'model',
  ],
  [
    /(status|error|http)\W{0,3}5\d\d\b|^5\d\d\b|"code":5\d\d\b|overload|unavailable|high demand|internal server error/i,
    'overload',
  ],
  [
    /ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|fetch failed|network|connection (error|lost)|stream (disconnected|ended)|finish reason/i,
    'transport',
  ],
  [/permission|denied/i, 'permission'],
];

const kindOfWords = (message: string): AgentErrorKind =>
  words.find(([pattern]) => pattern.test(message))?.[1] ?? 'unknown';
