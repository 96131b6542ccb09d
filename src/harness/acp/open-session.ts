import { asObject, field, listAt, textAt } from '../json.ts';
import type { Problem } from '../problem.ts';
import type { AcpAgent } from './agent.ts';
import type { Answer } from './connection.ts';
import { authRequired, modelProblem, problemOf } from './problems.ts';
import type { TurnRequest } from './turn-request.ts';

export type OpenedSession =
  | { readonly type: 'opened'; readonly sessionId: string }
  /** The agent says why it does not work: the user is not signed in, there is no such model. */
  | { readonly type: 'refused'; readonly problem: Problem }
  /** The agent does not do what it should. */
  | { readonly type: 'gone'; readonly why: string };

const newSessionMs = 60_000;
const settingMs = 10_000;

/** Opens a session, which has a context of its own, with the model and the mode of a turn. */
export const openSession = async (agent: AcpAgent, { harness, scope, turn }: TurnRequest): Promise<OpenedSession> => {
  const { connection } = agent;
  const { idleMs, iterationMs } = turn.deadlines;
  const ask = (method: string, params: object, ms: number) =>
    connection.request(method, params, Math.min(ms, idleMs, iterationMs));
  const opened = await ask('session/new', { cwd: scope.cwd, mcpServers: [] }, newSessionMs);
  if (opened.type === 'error' && (harness.acp?.only || opened.code === authRequired))
    return { type: 'refused', problem: problemOf(opened) };
  const sessionId = opened.type === 'result' ? textAt(opened.result, 'sessionId') : null;
  if (opened.type !== 'result' || sessionId === null) return { type: 'gone', why: whyNot('session/new', opened) };
  const settings = [
    ...(turn.job.model === null ? [] : [modelRequest(opened.result, turn.job.model, harness.acp?.modelOption)]),
    ...(harness.acp?.sessionMode === undefined ? [] : [modeRequest(opened.result, harness.acp.sessionMode)]),
  ];
  for (const { method, params } of settings) {
    const answer = await ask(method, { sessionId, ...params }, settingMs);
    if (answer.type === 'error') return { type: 'refused', problem: modelProblem(answer) };
    if (answer.type !== 'result') return { type: 'gone', why: whyNot(method, answer) };
  }
  return { type: 'opened', sessionId };
};

interface Setting {
  readonly method: string;
  readonly params: object;
}

/** Agents have an option of the category "model", or a request of their own for it. */
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
