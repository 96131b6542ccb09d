// A scripted model on loopback: speaks the OpenAI chat format, streaming, and answers what its script says.
// It keeps no state: which turn is due is read from the conversation that the agent sends along.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * @typedef {{ name: string, input: Record<string, unknown> }} ToolCall
 * @typedef {{ text?: string, tools?: ToolCall[] }} Turn What the model says, then the tools it calls.
 * @typedef {{ status: number, message: string }} Refusal An HTTP error instead of a turn.
 * @typedef {{ iteration: number, step: number }} Moment The iteration of the loop, and the turns taken in it so far.
 * @typedef {{ model: string, messages: { role: string, content: unknown }[], tools: string[] }} Request
 */

/**
 * @param {object} options
 * @param {(moment: Moment, request: Request) => Turn | Refusal} options.script
 * @param {number} [options.pauseMs] between two pieces of a streamed text
 * @returns {Promise<{ url: string, requests: Request[], close: () => Promise<void> }>}
 */
export const startModel = async ({ script, pauseMs = 0 }) => {
  /** @type {Request[]} */
  const requests = [];
  const server = createServer(async (request, response) => {
    const body = await readJson(request);
    if (!request.url?.endsWith('/chat/completions') || body === null) {
      sendJson(response, 404, { error: { message: `no such address: ${request.url}` } });
      return;
    }
    const seen = toRequest(body);
    requests.push(seen);
    const answer = script(momentOf(seen), seen);
    if ('status' in answer) sendJson(response, answer.status, { error: { message: answer.message, type: 'scripted' } });
    else await stream(response, seen.model, answer, pauseMs);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};

/**
 * The variables with which OpenCode talks to this model, and to nothing else. Its model is `scripted/model`.
 * @param {string} url
 */
export const opencodeEnvironment = (url) => ({
  OPENCODE_CONFIG_CONTENT: JSON.stringify({
    autoupdate: false,
    share: 'disabled',
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Scripted',
        options: { baseURL: url, apiKey: 'none' },
        models: {
          model: { name: 'Scripted', limit: { context: 128000, output: 8000 }, cost: { input: 1, output: 2 } },
        },
      },
    },
  }),
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
});

/** @param {Request} request @returns {Moment} */
const momentOf = ({ messages }) => {
  const asked = messages.findIndex((message) => message.role === 'user');
  const prompt = JSON.stringify(messages[asked]?.content ?? '');
  const iteration = Number(/Ralph Wiggum Loop - Iteration (\d+)/.exec(prompt)?.[1] ?? 0);
  return { iteration, step: messages.filter((message) => message.role === 'assistant').length };
};

/** @param {any} body @returns {Request} */
const toRequest = (body) => ({
  model: String(body.model),
  messages: body.messages ?? [],
  tools: (body.tools ?? []).map((/** @type {any} */ tool) => tool.function?.name),
});

/** @param {import('node:http').IncomingMessage} request */
const readJson = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return null;
  }
};

/** @param {import('node:http').ServerResponse} response @param {number} status @param {unknown} body */
const sendJson = (response, status, body) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

/**
 * @param {import('node:http').ServerResponse} response
 * @param {string} model
 * @param {Turn} turn
 * @param {number} pauseMs
 */
const stream = async (response, model, { text = '', tools = [] }, pauseMs) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const send = (/** @type {object} */ rest) => {
    const chunk = { id: 'scripted', object: 'chat.completion.chunk', created: 1, model, ...rest };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const delta = (/** @type {object} */ content, /** @type {string | null} */ reason = null) =>
    send({ choices: [{ index: 0, delta: content, finish_reason: reason }] });

  delta({ role: 'assistant', content: '' });
  for (const piece of text.match(/.{1,12}/gs) ?? []) {
    delta({ content: piece });
    if (pauseMs > 0) await delay(pauseMs);
  }
  tools.forEach(({ name, input }, index) => {
    const call = { name, arguments: JSON.stringify(input) };
    delta({ tool_calls: [{ index, id: `call_${Date.now()}_${index}`, type: 'function', function: call }] });
  });
  delta({}, tools.length > 0 ? 'tool_calls' : 'stop');
  send({ choices: [], usage: { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1050 } });
  response.end('data: [DONE]\n\n');
};
