import { asObject, field, listAt, textAt } from '../json.ts';
import type { Problem } from '../problem.ts';
import type { AcpAgent } from './agent.ts';
import { type Answer, methodNotFound, type RpcError } from './connection.ts';
import { isProtocolError, modelProblem, problemOf } from './problems.ts';
import type { TurnRequest } from './turn-request.ts';

export type OpenedSession =
  | { readonly type: 'opened'; readonly sessionId: string }
  /** The agent says why it does not work: the user is not signed in, there is no such model. */
  | {
      readonly type: 'refused';
      readonly problem: Problem;
      readonly isProtocolError: boolean;
      /** The session, if it was opened. */
      readonly sessionId: string | null;
    }
  /** The agent does not do what it should. */
  | { readonly type: 'gone'; readonly why: string };

const newSessionMs = 60_000;
const settingMs = 10_000;

/** Opens a session, which has its own context, with the model and the mode of a turn. */
export const openAcpSession = async (
  agent: AcpAgent,
  { harness, scope, turn }: TurnRequest,
): Promise<OpenedSession> => {
  const { connection } = agent;
  const { idleMs, iterationMs } = turn.deadlines;
  const ask = (method: string, params: object, ms: number) =>
    connection.request(method, params, Math.min(ms, idleMs, iterationMs));
  const opened = await ask('session/new', { cwd: scope.cwd, mcpServers: [] }, newSessionMs);
  // The CLI of an agent may be signed in by variables that this protocol ignores, and otherwise says how to sign in.
  if (opened.type === 'error' && harness.acp?.only) return refused(opened, problemOf(opened), null);
  const sessionId = opened.type === 'result' ? textAt(opened.result, 'sessionId') : null;
  if (opened.type !== 'result' || sessionId === null) return { type: 'gone', why: whyNot('session/new', opened) };
  // A session that it knows has the context of an earlier iteration.
  if (agent.sessions.has(sessionId)) return { type: 'gone', why: 'it opened the same session again' };
  agent.sessions.add(sessionId);
  const { model, allowAll } = turn.job;
  const isFree = allowAll && scope.rules.deny.length === 0;
  const mode = (isFree ? harness.acp?.allowAllMode : undefined) ?? harness.acp?.sessionMode;
  const settings = [
    ...(model === null || harness.acp?.modelAtStart
      ? []
      : [{ ...modelRequest(opened.result, model, harness.acp?.modelOption), toProblem: modelProblem }]),
    ...(mode === undefined ? [] : [{ ...modeRequest(opened.result, mode), toProblem: modeProblem(mode) }]),
  ];
  for (const { method, params, toProblem } of settings) {
    const answer = await ask(method, { sessionId, ...params }, settingMs);
    const isUnknown = answer.type === 'error' && answer.code === methodNotFound && !harness.acp?.only;
    if (answer.type === 'error' && !isUnknown) return refused(answer, toProblem(answer), sessionId);
    if (answer.type !== 'result') return { type: 'gone', why: whyNot(method, answer) };
  }
  return { type: 'opened', sessionId };
};

const refused = (error: RpcError, problem: Problem, sessionId: string | null): OpenedSession => ({
  type: 'refused',
  problem,
  isProtocolError: problem.kind !== 'model' && isProtocolError(error),
  sessionId,
});

const modeProblem =
  (mode: string) =>
  (error: RpcError): Problem => {
    const problem = problemOf(error);
    return { ...problem, message: `it does not accept the mode "${mode}": ${problem.message}` };
  };

interface Setting {
  readonly method: string;
  readonly params: object;
}

/** Agents have an option of the category "model", or a separate request for it. */
const modelRequest = (session: unknown, model: string, option: string | undefined): Setting => {
  const options = listAt(session, 'configOptions');
  const known = options.find((each) =>
    option === undefined
      ? textAt(each, 'category') === 'model' || textAt(each, 'id') === 'model'
      : textAt(each, 'id') === option,
  );
  const configId = option ?? textAt(known, 'id');
  return configId === null || (option === undefined && known === undefined)
    ? { method: 'session/set_model', params: { modelId: model } }
    : { method: 'session/set_config_option', params: { configId, value: model } };
};

const modeRequest = (session: unknown, mode: string): Setting =>
  asObject(field(session, 'modes')) === null
    ? { method: 'session/set_config_option', params: { configId: 'mode', value: mode } }
    : { method: 'session/set_mode', params: { modeId: mode } };

const whyNot = (method: string, answer: Answer): string => {
  if (answer.type === 'timeout') return `it did not answer "${method}" in time`;
  if (answer.type === 'error') return `it refused "${method}": ${answer.message}`;
  return answer.type === 'gone' ? `it exited at "${method}"` : `it did not answer "${method}" as it should`;
};
