import type { Usage } from '../../ralph/agent-events.ts';
import type { Problem } from '../problem.ts';

/*
 * The log of a turn with an ACP agent, and all that its decoder is given. A line that starts with "{" is a message of the
 * agent. All other lines have a mark, so no output of the agent can be mistaken for a line of Spool.
 */

/** A message that Spool has sent. */
export const sentMark = '> ';
/** What Spool has found out or decided, as JSON. */
export const annotationMark = '# ';
/** Other output of the agent: its stderr, and what is no message on its stdout. */
export const outputMark = '! ';

/** What Spool adds to the messages. */
export interface Annotation {
  /** A request for permission was rejected. */
  readonly denied?: DeniedRequest;
  /** The usage of the session so far, as the agent reports it outside of the protocol. */
  readonly usage?: Usage;
  /** The error that ended the turn, in more detail than the protocol has it. */
  readonly problem?: Problem;
  /** Why the agent stopped although it had more to do. */
  readonly unfinished?: string;
  /** What the agent is waiting for. */
  readonly waiting?: string;
}

export interface DeniedRequest {
  /** The tool call. */
  readonly id: string | null;
  readonly tool: string;
  readonly title: string;
  /** Why it was rejected, in a sentence without a full stop. */
  readonly reason: string;
  /** A rule of the user forbids it. */
  readonly byRule?: true;
  /** The rule that would allow it. */
  readonly add?: string;
}

export const annotationLine = (annotation: Annotation): string => `${annotationMark}${JSON.stringify(annotation)}`;

/** A message as it is logged. The prompt is in a separate file. */
export const sentLine = (message: string): string => {
  const at = message.indexOf(promptStart);
  const shortened =
    at !== -1 && message.endsWith(promptEnd) ? `${message.slice(0, at)}"prompt":"(see the prompt)"}}` : message;
  return `${sentMark}${shortened}`;
};

const promptStart = '"prompt":[{"type":"text","text":';
const promptEnd = '}]}}';
