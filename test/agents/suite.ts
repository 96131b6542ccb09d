import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agentBin } from '../../scripts/agents.mjs';
import type { AgentMode } from '../../src/harness/agent-mode.ts';
import type { Harness } from '../../src/harness/harness.ts';
import { harnesses } from '../../src/harness/registry.ts';
import type { AgentErrorKind } from '../../src/ralph/agent-events.ts';
import type { IterationRecord } from '../../src/ralph/record.ts';
import { scenarios } from '../model/scenarios.mjs';
import { createAgentProject as createScriptedAgent } from '../support/agent.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, root } from '../support/project.ts';
import { sandboxProblem } from '../support/sandbox.ts';

const noSandbox = sandboxProblem();

const go = ['ralph', 'Go.', '--change', change];
const once = [...go, '--max-iterations', '1', '--fail-fast'];

/** It retries a 429 for longer than a test should take, and has no option against it. */
const isPatient = (name: string) => name === 'qwen';

const refusals: [number, AgentErrorKind][] = [
  [401, 'auth'],
  [429, 'rate-limit'],
  [500, 'overload'],
];

/** Agents that end their turn when they are denied a tool. The others continue, and the scripted model prints the promise. */
const stopsWhenDenied = (name: string, mode: AgentMode) =>
  name === 'opencode' || (mode !== 'cold' && ['copilot', 'qwen'].includes(name));

/** Gemini CLI refuses to write outside the project without asking, and the commands of Codex fail in its own sandbox. */
const asks = (harness: Harness, mode: AgentMode) =>
  isAcp(harness, mode) ? !['gemini', 'codex-acp'].includes(harness.name) : harness.capabilities.includes('denials');

const isAcp = ({ acp }: Harness, mode: AgentMode) => acp !== undefined && (acp.only === true || mode !== 'cold');

/** Agents that read instructions only when they start. */
const isStale = new Set(['copilot']);

/** The tokens of two steps, as each agent reports them by the protocol. */
const tokens: Record<string, object | null> = {
  opencode: { inputTokens: 2000, outputTokens: 100 },
  copilot: { inputTokens: 2000, outputTokens: 100 },
  gemini: { inputTokens: 2000, outputTokens: 100 },
  qwen: { inputTokens: 2000, outputTokens: 100 },
  'codex-acp': { inputTokens: 2000, outputTokens: 100, cacheReadTokens: 200 },
  'claude-agent-acp': { inputTokens: 2200, outputTokens: 100, cacheReadTokens: 200 },
  goose: null,
};

/** Without a key, the others try to reach their provider for longer than a test should take. */
const reportsSignedOut = new Set(['claude', 'copilot', 'gemini', 'pi', 'qwen']);

/** What the records of each scenario say, by mode. Of one agent: each has a file of its own. */
const recorded: Readonly<Record<AgentMode, Map<string, string>>> = {
  cold: new Map(),
  standby: new Map(),
  warm: new Map(),
};

/** `3 iterations, complete; 6000 + 300 tokens, $0.0066`, as far as the agent reports it. */
const outcomeOf = (records: readonly IterationRecord[]): string => {
  const last = records.at(-1)!;
  const total = (key: 'inputTokens' | 'outputTokens' | 'costUsd') =>
    records.reduce((sum, { usage }) => sum + (usage?.[key] ?? 0), 0);
  const hasCost = records.some(({ usage }) => (usage?.costUsd ?? null) !== null);
  const facts = [
    `${records.length} iteration${records.length === 1 ? '' : 's'}`,
    ...(last.completionFound ? ['complete'] : []),
    ...(last.end === 'interrupted' ? ['interrupted'] : []),
    ...(last.error && last.end !== 'interrupted' ? [`\`${last.error.kind}\` error`] : []),
    ...(last.denied ? ['denied'] : []),
  ].join(', ');
  if (records.every(({ usage }) => usage === null)) return facts;
  const tokens = `${total('inputTokens')} + ${total('outputTokens')} tokens`;
  return `${facts}; ${tokens}${hasCost ? `, $${total('costUsd').toFixed(4)}` : ''}`;
};

/** The table of an agent in docs/harnesses.md says what is recorded in each mode. After both modes in the same file. */
export const testTable = (name: string) =>
  test(`${name}: the table in docs/harnesses.md says what is recorded in each mode`, () => {
    const docs = readFileSync(join(root, 'docs', 'harnesses.md'), 'utf8');
    const [table = ''] = docs
      .slice(docs.search(new RegExp(`^\\| ${name} +\\| cold +\\| warm +\\|$`, 'm')))
      .split('\n\n');
    const rows = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    const column = (at: number) => new Map(rows.slice(2).map((cells) => [cells[1], cells[at]]));

    expect({ cold: recorded.cold, warm: recorded.warm }).toEqual({ cold: column(2), warm: column(3) });
  });

/** The same scenarios for every agent, in each mode that it supports. A sample has those that differ between modes. */
export const testAgent = (name: string, mode: AgentMode = 'cold', extent: 'all' | 'sample' = 'all') => {
  const isSample = extent === 'sample' && process.env.TEST_AGENTS !== 'all';
  const harness = harnesses.find((known) => known.name === name)!;
  const createAgentProject = (script: Parameters<typeof createScriptedAgent>[1]) =>
    createScriptedAgent(name, script, {}, mode);
  const note = (scenario: string, { history }: { history: () => readonly IterationRecord[] }) =>
    recorded[mode].set(scenario, outcomeOf(history()));
  /** An answer has no exit code. */
  const end = isAcp(harness, mode) ? 'answered' : 'exited';

  describe(`${name}, ${mode}`, () => {
    test('completes after three iterations, with a prompt of 300 KiB', async () => {
      const project = await createAgentProject(({ iteration, step }, folder) => {
        if (step === 0)
          return { text: 'I work.', tools: [{ write: join(folder, `part-${iteration}.txt`), content: 'x\n' }] };
        return { text: iteration === 3 ? 'All is done.\n\n<promise>COMPLETE</promise>' : 'There is more to do.' };
      });
      project.write('long.md', 'word '.repeat(61_440));

      const result = await project.run('ralph', '--change', change, '--prompt-file', 'long.md', '--allow-all');
      note('three iterations, a prompt of 300 KiB', project);

      expect(result).toMatchObject({ code: 0 });
      expect(project.history().map(({ end, completionFound, error }) => ({ end, completionFound, error }))).toEqual([
        { end, completionFound: false, error: null },
        { end, completionFound: false, error: null },
        { end, completionFound: true, error: null },
      ]);
      for (const iteration of [1, 2, 3]) expect(project.read(`part-${iteration}.txt`)).toMatch(/^x/);
      expect(Math.max(...project.model.requests.map((request) => request.bytes))).toBeGreaterThan(300 * 1024);
    });

    if (!isSample) {
      test('continues if only a tool printed the promise', async () => {
        const { script } = scenarios.continues;
        const project = await createAgentProject(script);

        expect(await project.run(...once, '--allow-all')).toMatchObject({ code: 3 });
        note('a promise that only a tool printed', project);

        expect(project.history()).toMatchObject([{ completionFound: false, rejected: null, error: null }]);
      });

      if (isPatient(name)) recorded[mode].set('the provider answers 429', 'not tested: it retries for over 5 minutes');

      test.each(refusals.filter(([status]) => !(isPatient(name) && status === 429)))(
        'fails if the provider answers %d',
        async (status, kind) => {
          const project = await createAgentProject(() => ({ status, message: 'scripted refusal' }));

          // Spool waits for a usage limit, unless there is no time left.
          expect(await project.run(...once, '--max-wait', '0s')).toMatchObject({ code: kind === 'rate-limit' ? 3 : 1 });
          note(`the provider answers ${status}`, project);

          expect(project.history()).toMatchObject([{ completionFound: false, error: { kind } }]);
        },
      );

      if (reportsSignedOut.has(name))
        test('prints how to sign in if the user is not signed in', async () => {
          const project = createProject();

          const path = `${agentBin(name)}:${project.env.PATH}`;
          const args = [...once, '--harness', name, '--agent-mode', mode, '--allow-all'];
          const result = await project.start(args, { env: { PATH: path } }).result;

          expect(result).toMatchObject({ code: 1 });
          expect(project.history()).toMatchObject([
            { error: { kind: 'auth', message: expect.stringContaining(harness.advice!.auth!) } },
          ]);
        });

      test('does not write outside the project without --allow-all', async () => {
        const { script } = scenarios.denied;
        const project = await createAgentProject(script);

        await project.run(...once);
        note('a file outside, without `--allow-all`', project);

        const outside = existsSync(join(project.folder, '..', 'outside.txt'));
        // pi has no permissions to ask for.
        expect(outside).toBe(name === 'pi');
        const denied = asks(harness, mode) ? { message: expect.any(String) } : null;
        expect(project.history()).toMatchObject([
          stopsWhenDenied(name, mode) ? { error: { kind: 'permission' }, denied } : { error: null, denied },
        ]);
      });

      test('leaves no process running if it is interrupted during a tool call', async () => {
        const project = await createAgentProject(() => ({
          text: 'I watch.',
          tools: [{ shell: 'while :; do echo x >> growing.txt; sleep 0.1; done' }],
        }));

        const loop = project.start(...go, '--allow-all');
        await eventually(() => project.exists('growing.txt'), 'the tool to write', 120_000);
        loop.kill('SIGINT');

        expect(await loop.result).toMatchObject({ code: 130 });
        note('interrupted during a tool call', project);
        expect(processesWith(`HOME=${project.home}`)).toEqual([]);
        expect(project.history()).toMatchObject([{ end: 'interrupted', completionFound: false }]);
      });
    }

    if (isAcp(harness, mode))
      test('has a fresh context in each iteration, reads changed instructions and ends what its tools left', async () => {
        const commands: Record<number, string> = {
          1: 'LEFT_BY="$PWD" setsid sleep 600 > /dev/null 2>&1 < /dev/null &',
          2: `for name in AGENTS CLAUDE GEMINI QWEN; do echo 'Prefer cherries.' > "$name.md"; done`,
        };
        const left: number[] = [];
        const project = await createAgentProject(({ iteration, step }, folder) => {
          if (iteration === 2) left.push(...processesWith(`LEFT_BY=${folder}`));
          return step === 0
            ? { text: `I pick banana-${iteration}.`, tools: [{ shell: `${commands[iteration] ?? ''}\necho ok` }] }
            : { text: iteration === 3 ? 'All is done.\n\n<promise>COMPLETE</promise>' : 'There is more to do.' };
        });

        const result = await project.run(...go, '--allow-all');

        expect(result).toMatchObject({ code: 0 });
        expect(result.stderr).not.toContain('cannot run in');
        if (mode === 'warm') expect(result.stderr.includes('is restarted')).toBe(isStale.has(name));
        const usage = tokens[name] === null ? null : expect.objectContaining(tokens[name]!);
        expect(project.history()).toMatchObject(
          [1, 2, 3].map((iteration) => ({ end, error: null, completionFound: iteration === 3, usage })),
        );
        const textsOf = (iteration: number) =>
          project.model.requests
            .filter(({ prompt }) => prompt.includes(`Ralph Wiggum Loop - Iteration ${iteration}`))
            .map(({ text }) => text);
        expect(textsOf(1).join('')).toContain('banana-1');
        expect(textsOf(2).join('')).not.toContain('banana-1');
        expect(textsOf(3).join('')).not.toMatch(/banana-[12]/);
        for (const text of textsOf(3)) expect(text.match(/Ralph Wiggum Loop - Iteration/g)).toHaveLength(1);
        expect(textsOf(3).join('')).toContain('Prefer cherries.');
        expect(left).toEqual([]);
        expect(processesWith(`HOME=${project.home}`)).toEqual([]);
      });

    if (mode !== 'cold') return;
    if (noSandbox === null)
      test('works in a sandbox and does not write outside the project', async () => {
        const outside = (folder: string) => join(folder, '..', 'outside.txt');
        const project = await createAgentProject(({ step }, folder) =>
          step === 0
            ? { text: 'I work.', tools: [{ shell: `echo x > made.txt; echo x > '${outside(folder)}'; echo done` }] }
            : { text: 'All is done.\n\n<promise>COMPLETE</promise>' },
        );

        const result = await project.run(...once, '--allow-all', '--sandbox');

        expect(result).toMatchObject({ code: 0 });
        // No file that the agent writes itself is protected.
        expect(result.stderr).not.toContain('The sandbox protects');

        expect(project.read('made.txt')).toBe('x\n');
        expect(existsSync(outside(project.folder))).toBe(false);
        expect(project.history()).toMatchObject([{ completionFound: true, error: null, git: { files: ['made.txt'] } }]);
      });
    else
      test('reports what is skipped', () =>
        void process.stderr.write(`\nSKIPPED: ${name} in a sandbox (${noSandbox})\n`));
  });
};
