import type { AgentErrorKind } from '../../ralph/agent-events.ts';
import { numberAt, textAt } from '../json.ts';
import { type Problem, problemEvent } from '../problem.ts';
import type { RpcError } from './connection.ts';

const authRequired = -32000;
const invalidParams = -32602;
const parseError = -32700;
const invalidRequest = -32600;
/** Many agents use this code for every error of the provider. */
const internalError = -32603;

/** What an error says, by its code, by what agents add to it, and by its words. */
export const problemOf = ({ code, message, data }: RpcError): Problem => {
  const details = textAt(data, 'details') ?? textAt(data, 'message');
  const text = details === null || message.includes(details) ? message : `${message}: ${details}`;
  const status = code >= 400 && code < 600 ? code : (numberAt(data, 'statusCode') ?? numberAt(data, 'status'));
  const kind = code === authRequired ? 'auth' : kinds.get(textAt(data, 'errorKind') ?? '');
  return { message: text, status, ...(kind && { kind }) };
};

/** The error of a request to use a model. */
export const modelProblem = (error: RpcError): Problem => ({
  ...problemOf(error),
  ...(error.code === invalidParams && { kind: 'model' as const }),
});

/**
 * Whether an error is one of the protocol, after which the agent may be in any state; not one of the model or the
 * provider. `found` is what the agent says about it elsewhere.
 */
export const isProtocolError = (error: RpcError, found?: Problem): boolean => {
  const { code } = error;
  const isReserved = code >= parseError && code <= invalidRequest && code !== internalError;
  return isReserved || problemEvent(found ?? problemOf(error)).kind === 'unknown';
};

const kinds = new Map<string, AgentErrorKind>([
  ['rate_limit', 'rate-limit'],
  ['server_error', 'overload'],
  ['overloaded', 'overload'],
  ['authentication', 'auth'],
]);

/** Agents that report an error as their own words, and end the turn as if it had succeeded. */
const errorTexts = /^(?:Ran into this error: ?|Error: |Info: Request failed)/;

/** Returns the error that a message is, or null if it is an ordinary message. */
export const errorInText = (message: string): Problem | null => {
  const text = message.trim();
  if (!errorTexts.test(text)) return null;
  return {
    message: text.replace(/^(?:Ran into this error|Error): ?/, '').replace(/\n\nPlease retry if you think .*$/, ''),
  };
};
