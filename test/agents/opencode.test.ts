import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createAgentProject } from '../support/agent.ts';
import { processesWith } from '../support/processes.ts';
import { change } from '../support/project.ts';
import { testAgent, testTable } from './suite.ts';

testAgent('opencode');
testAgent('opencode', 'warm');
testAgent('opencode', 'standby', 'sample');
testTable('opencode');

test('opencode, warm: has a fresh context in each of ten iterations, and leaves nothing running', async () => {
  const instructions = 'Write short lines. '.repeat(500);
  /** What the tool of an iteration does. */
  const commands: Record<number, string> = {
    1: 'setsid sleep 600 > /dev/null 2>&1 < /dev/null &',
    2: `printf '%s' '${instructions}' > AGENTS.md`,
    5: `printf '{"share":"disabled"}' > opencode.json`,
  };
  const project = await createAgentProject(
    'opencode',
    ({ iteration, step }) =>
      step === 0
        ? {
            text: `I work on ${iteration}.`,
            tools: [{ shell: `${commands[iteration] ?? ''}\necho ${iteration} >> a.txt` }],
          }
        : { text: iteration === 10 ? 'All is done.\n\n<promise>COMPLETE</promise>' : 'There is more to do.' },
    {},
    'warm',
  );

  const result = await project.run('ralph', 'Go.', '--change', change, '--allow-all');

  expect(result).toMatchObject({ code: 0 });
  expect(project.history()).toMatchObject(
    Array.from({ length: 10 }, (_, index) => ({
      end: 'answered',
      error: null,
      completionFound: index === 9,
      usage: { inputTokens: 2000, outputTokens: 100, costUsd: 0.0022 },
      tools: { bash: 1 },
    })),
  );
  // Two requests for each iteration: none for a title, and none with what an earlier iteration said.
  const { requests } = project.model;
  expect(requests.map(({ step }) => step)).toEqual(Array.from({ length: 10 }, () => [0, 1]).flat());
  expect(requests.map(({ prompt }) => /Iteration \d+/.exec(prompt)?.[0])).toEqual(
    Array.from({ length: 10 }, (_, index) => [`Iteration ${index + 1}`, `Iteration ${index + 1}`]).flat(),
  );
  for (const { prompt } of requests) expect(prompt.match(/Ralph Wiggum Loop - Iteration/g)).toHaveLength(1);
  expect(requests[4]!.bytes - requests[2]!.bytes).toBeGreaterThan(instructions.length / 2);
  // It reads its settings only when it starts, so it is started again after the fifth iteration.
  const folder = project.stateFile(`runs/${project.state().run}`);
  const starts = project.history().filter(({ iteration }) => {
    const log = readFileSync(`${folder}/${String(iteration).padStart(4, '0')}.log`, 'utf8');
    return log.includes('"method":"initialize"');
  });
  expect(starts.map(({ iteration }) => iteration)).toEqual([1, 6]);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
});

/** A server of the Model Context Protocol with one tool, which appends a line to a file. */
const mcpServer = `
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'x', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [{ name: 'ping', description: 'Pings.', inputSchema: { type: 'object', properties: {} } }] }),
  'tools/call': () => {
    appendFileSync('pings.txt', process.pid + '\\n');
    return { content: [{ type: 'text', text: 'pong' }] };
  },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = answers[method]?.(params) ?? {};
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});
`;

test('opencode, warm: the tools of a server that it starts with a shell work in each iteration', async () => {
  const command = ['sh', '-c', `'${process.execPath}' server.mjs; true`];
  const files = {
    'server.mjs': mcpServer,
    'opencode.json': JSON.stringify({ mcp: { x: { type: 'local', command } } }),
  };
  const project = await createAgentProject(
    'opencode',
    ({ iteration, step }) =>
      step === 0
        ? { text: `I ping in ${iteration}.`, tools: [{ name: 'x_ping', input: {} }] }
        : { text: iteration === 3 ? 'All is done.\n\n<promise>COMPLETE</promise>' : 'There is more to do.' },
    { files },
    'warm',
  );

  const result = await project.run('ralph', 'Go.', '--change', change, '--allow-all');

  expect(result).toMatchObject({ code: 0 });
  expect(project.history()).toMatchObject(
    [1, 2, 3].map(() => ({ end: 'answered', error: null, tools: { x_ping: 1 } })),
  );
  const pings = project.read('pings.txt').trim().split('\n');
  expect(pings).toHaveLength(3);
  // OpenCode starts it before the first prompt, so it lives as long as OpenCode.
  expect(new Set(pings).size).toBe(1);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
});
