// A scripted model on loopback. It supports the wire formats of the agent CLIs (OpenAI chat and responses, Anthropic
// messages, Gemini) with streaming, and answers as its script says. It has no state: the current turn is read from
// the conversation in each request.
import { createServer } from 'node:http';
import { formats } from './formats.mjs';

/**
 * @typedef {{ shell: string } | { write: string, content: string } | { name: string, input: Record<string, unknown> }} ToolCall
 *   A command, a file, or a tool of the agent by its own name.
 * @typedef {{ text?: string, tools?: ToolCall[] }} Turn The text of the model, then the tools it calls.
 * @typedef {{ status: number, message: string }} Refusal An HTTP error instead of a turn.
 * @typedef {{ iteration: number, step: number }} Moment The iteration of the loop, and the turns taken in it so far.
 * @typedef {{ name: string, schema: { properties?: Record<string, { type?: string }>, required?: string[] } }} Tool
 * @typedef {{ model: string, prompt: string, step: number, tools: Tool[], stream: boolean, bytes: number, text: string }} Request
 */

/**
 * @param {object} options
 * @param {(moment: Moment, request: Request) => Turn | Refusal} options.script
 * @param {number} [options.pauseMs] between two chunks of a streamed text
 * @returns {Promise<{ url: string, requests: Request[], close: () => Promise<void> }>}
 */
export const startModel = async ({ script, pauseMs = 0 }) => {
  /** @type {Request[]} */
  const requests = [];
  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0] ?? '';
    const text = await readText(request).catch(() => null);
    // The agent was ended while it sent its request.
    if (text === null) return;
    const format = formats.find((candidate) => candidate.matches(path));
    const body = parse(text);
    if (!format || body === null) return sendJson(response, 404, { error: { message: `no such address: ${path}` } });
    const seen = { ...format.read(body, path), bytes: text.length, text };
    requests.push(seen);
    const answer = script({ iteration: iterationOf(seen.prompt), step: seen.step }, seen);
    if ('status' in answer) return sendJson(response, answer.status, format.refusal(answer));
    await format.answer(response, seen, answer, pauseMs);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};

/** @param {string} prompt */
const iterationOf = (prompt) => Number(/Ralph Wiggum Loop - Iteration (\d+)/.exec(prompt)?.[1] ?? 0);

/** @param {import('node:http').IncomingMessage} request */
const readText = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};

/** @param {string} text */
const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** @param {import('node:http').ServerResponse} response @param {number} status @param {unknown} body */
const sendJson = (response, status, body) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};
