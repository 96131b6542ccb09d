import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgentProject } from '../support/agent.ts';
import { processesWith } from '../support/processes.ts';
import { change, root } from '../support/project.ts';
import { recorded, testAgent } from './suite.ts';

testAgent('opencode');
testAgent('opencode', 'warm');
testAgent('opencode', 'standby', 'sample');

test('opencode: the table in docs/harnesses.md says what is recorded in each mode', () => {
  const docs = readFileSync(join(root, 'docs', 'harnesses.md'), 'utf8');
  const [table = ''] = docs.slice(docs.indexOf('| scenario ')).split('\n\n');
  const rows = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const column = (at: number) => new Map(rows.slice(2).map((cells) => [cells[1], cells[at]]));

  expect({ cold: recorded.cold, warm: recorded.warm }).toEqual({ cold: column(2), warm: column(3) });
});

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
