// The wire formats, each as small as the agent CLIs accept.
import { setTimeout as delay } from 'node:timers/promises';
import { concrete } from './tools.mjs';

/**
 * @typedef {import('./server.mjs').Request} Request
 * @typedef {import('./server.mjs').Turn} Turn
 * @typedef {import('./server.mjs').Refusal} Refusal
 * @typedef {import('node:http').ServerResponse} Response
 * @typedef {object} Format
 * @property {(path: string) => boolean} matches
 * @property {(body: any, path: string) => Omit<Request, 'bytes' | 'text'>} read
 * @property {(refusal: Refusal) => object} refusal
 * @property {(response: Response, request: Request, turn: Turn, pauseMs: number) => Promise<void>} answer
 */

const inputTokens = 1000;
const outputTokens = 50;

/** @param {unknown} content */
const textOf = (content) => (typeof content === 'string' ? content : JSON.stringify(content ?? ''));

/** @param {Request} request @param {Turn} turn */
const callsOf = (request, turn) =>
  (turn.tools ?? []).map((call) => concrete(call, request.tools)).filter((call) => call !== null);

/** @param {string} text */
const pieces = (text) => text.match(/.{1,12}/gs) ?? [];

/** @param {Response} response */
const startEvents = (response) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });

/** @param {Response} response @param {object} data @param {string} [name] */
const sendEvent = (response, data, name) =>
  response.write(`${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`);

/** @param {Response} response @param {object} body */
const sendWhole = (response, body) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

let count = 0;
const newId = () => `scripted${++count}`;

/**
 * What the user has asked so far, and how often the model has answered.
 * @param {any[]} messages
 */
const turnsIn = (messages) => ({
  prompt: messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => textOf(content))
    .join('\n'),
  // Some agents send the text and the calls of one turn as two messages.
  step: messages.filter(({ role }, at) => role === 'assistant' && messages[at + 1]?.role !== 'assistant').length,
});

/** @type {Format} */
const openaiChat = {
  matches: (path) => path.endsWith('/chat/completions'),
  read: ({ model, messages = [], tools = [], stream = false }) => ({
    model: String(model),
    ...turnsIn(messages),
    tools: tools.map((/** @type {any} */ t) => ({ name: t.function?.name, schema: t.function?.parameters ?? {} })),
    stream,
  }),
  refusal: ({ message }) => ({ error: { message, type: 'scripted', code: 'scripted' } }),
  answer: async (response, request, turn, pauseMs) => {
    const { model } = request;
    const calls = callsOf(request, turn);
    const usage = {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    };
    const reason = calls.length > 0 ? 'tool_calls' : 'stop';
    const toolCalls = calls.map(({ name, input }, index) => ({
      index,
      id: newId(),
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }));
    const base = { id: newId(), created: 1, model };
    if (!request.stream) {
      const message = {
        role: 'assistant',
        content: turn.text ?? null,
        ...(calls.length > 0 ? { tool_calls: toolCalls } : {}),
      };
      const choices = [{ index: 0, message, finish_reason: reason }];
      return sendWhole(response, { ...base, object: 'chat.completion', choices, usage });
    }
    startEvents(response);
    const send = (/** @type {object} */ rest) =>
      sendEvent(response, { ...base, object: 'chat.completion.chunk', ...rest });
    const delta = (/** @type {object} */ content, /** @type {string | null} */ finish = null) =>
      send({ choices: [{ index: 0, delta: content, finish_reason: finish }] });
    delta({ role: 'assistant', content: '' });
    for (const piece of pieces(turn.text ?? '')) {
      delta({ content: piece });
      if (pauseMs > 0) await delay(pauseMs);
    }
    for (const call of toolCalls) delta({ tool_calls: [call] });
    delta({}, reason);
    send({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  },
};

/** @param {any} item */
const isOutput = (item) => String(item?.type).endsWith('_output');

/** @type {Format} */
const openaiResponses = {
  matches: (path) => path.endsWith('/responses'),
  read: ({ model, input = [], tools = [], stream = false }) => {
    const items = Array.isArray(input) ? input : [{ role: 'user', content: input }];
    return {
      model: String(model),
      prompt: items
        .filter((/** @type {any} */ item) => item.role === 'user')
        .map((/** @type {any} */ item) => textOf(item.content))
        .join('\n'),
      // A turn is a message, its calls and their outputs. The outputs end it.
      step: items.filter(
        (/** @type {any} */ item, /** @type {number} */ at) => isOutput(item) && !isOutput(items[at + 1]),
      ).length,
      tools: tools.map((/** @type {any} */ tool) => ({ name: tool.name ?? tool.type, schema: tool.parameters ?? {} })),
      stream,
    };
  },
  refusal: ({ message }) => ({ error: { message, type: 'scripted', code: 'scripted' } }),
  answer: async (response, request, turn) => {
    const usage = {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: 100 },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    };
    const message = turn.text
      ? [
          {
            type: 'message',
            id: newId(),
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: turn.text, annotations: [] }],
          },
        ]
      : [];
    const calls = callsOf(request, turn).map(({ name, input }) => ({
      type: 'function_call',
      id: newId(),
      call_id: newId(),
      name,
      arguments: JSON.stringify(input),
      status: 'completed',
    }));
    const output = [...message, ...calls];
    const whole = {
      id: newId(),
      object: 'response',
      created_at: 1,
      model: request.model,
      status: 'completed',
      output,
      usage,
    };
    if (!request.stream) return sendWhole(response, whole);
    startEvents(response);
    let number = 0;
    const send = (/** @type {string} */ type, /** @type {object} */ rest) =>
      sendEvent(response, { type, sequence_number: number++, ...rest }, type);
    send('response.created', { response: { ...whole, status: 'in_progress', output: [], usage: null } });
    output.forEach((/** @type {any} */ item, index) => {
      send('response.output_item.added', { output_index: index, item: { ...item, status: 'in_progress' } });
      if (item.type === 'message')
        send('response.output_text.delta', {
          item_id: item.id,
          output_index: index,
          content_index: 0,
          delta: turn.text,
        });
      send('response.output_item.done', { output_index: index, item });
    });
    send('response.completed', { response: whole });
    response.end();
  },
};

/** @type {Format} */
const anthropicMessages = {
  matches: (path) => path.endsWith('/messages'),
  read: ({ model, messages = [], tools = [], stream = false }) => ({
    model: String(model),
    ...turnsIn(messages),
    tools: tools.map((/** @type {any} */ tool) => ({ name: tool.name, schema: tool.input_schema ?? {} })),
    stream,
  }),
  refusal: ({ status, message }) => {
    const types = /** @type {Record<number, string>} */ ({
      401: 'authentication_error',
      429: 'rate_limit_error',
      529: 'overloaded_error',
    });
    return { type: 'error', error: { type: types[status] ?? 'api_error', message } };
  },
  answer: async (response, request, turn, pauseMs) => {
    const usage = {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 100,
    };
    const calls = callsOf(request, turn);
    const content = [
      ...(turn.text ? [{ type: 'text', text: turn.text }] : []),
      ...calls.map(({ name, input }) => ({ type: 'tool_use', id: `toolu_${newId()}`, name, input })),
    ];
    const stopReason = calls.length > 0 ? 'tool_use' : 'end_turn';
    const whole = {
      id: `msg_${newId()}`,
      type: 'message',
      role: 'assistant',
      model: request.model,
      content,
      stop_reason: stopReason,
      stop_sequence: null,
      usage,
    };
    if (!request.stream) return sendWhole(response, whole);
    startEvents(response);
    const send = (/** @type {string} */ type, /** @type {object} */ rest) =>
      sendEvent(response, { type, ...rest }, type);
    send('message_start', {
      message: { ...whole, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    });
    for (const [index, block] of content.entries()) {
      const empty = block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
      send('content_block_start', { index, content_block: empty });
      if (block.type === 'text' && 'text' in block)
        for (const piece of pieces(block.text)) {
          send('content_block_delta', { index, delta: { type: 'text_delta', text: piece } });
          if (pauseMs > 0) await delay(pauseMs);
        }
      else if ('input' in block)
        send('content_block_delta', {
          index,
          delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
        });
      send('content_block_stop', { index });
    }
    send('message_delta', {
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: { output_tokens: outputTokens },
    });
    send('message_stop', {});
    response.end();
  },
};

/** @type {Format} */
const gemini = {
  matches: (path) => /:(streamGenerateContent|generateContent)$/.test(path),
  read: ({ contents = [], tools = [] }, path) => ({
    model: /models\/([^:]+):/.exec(path)?.[1] ?? '',
    prompt: contents
      .filter((/** @type {any} */ c) => c.role === 'user')
      .map((/** @type {any} */ c) => textOf(c.parts))
      .join('\n'),
    step: contents.filter((/** @type {any} */ c) => c.role === 'model').length,
    tools: tools
      .flatMap((/** @type {any} */ tool) => tool.functionDeclarations ?? [])
      .map((/** @type {any} */ tool) => ({
        name: tool.name,
        schema: tool.parametersJsonSchema ?? tool.parameters ?? {},
      })),
    stream: path.includes('stream'),
  }),
  refusal: ({ status, message }) => {
    const states = /** @type {Record<number, string>} */ ({ 401: 'UNAUTHENTICATED', 429: 'RESOURCE_EXHAUSTED' });
    return { error: { code: status, message, status: states[status] ?? 'INTERNAL' } };
  },
  answer: async (response, request, turn) => {
    const parts = [
      ...pieces(turn.text ?? '').map((text) => ({ text })),
      ...callsOf(request, turn).map(({ name, input }) => ({ functionCall: { id: newId(), name, args: input } })),
    ];
    const usageMetadata = {
      promptTokenCount: inputTokens,
      candidatesTokenCount: outputTokens,
      totalTokenCount: inputTokens + outputTokens,
      cachedContentTokenCount: 100,
    };
    const chunk = (/** @type {object[]} */ some, /** @type {object} */ end) => ({
      candidates: [{ content: { role: 'model', parts: some }, index: 0, ...end }],
      usageMetadata,
      modelVersion: request.model,
      responseId: newId(),
    });
    if (!request.stream) return sendWhole(response, chunk(parts, { finishReason: 'STOP' }));
    startEvents(response);
    for (const [index, part] of parts.entries())
      sendEvent(response, chunk([part], index === parts.length - 1 ? { finishReason: 'STOP' } : {}));
    response.end();
  },
};

export const formats = [openaiChat, openaiResponses, anthropicMessages, gemini];
