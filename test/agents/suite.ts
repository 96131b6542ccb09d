import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agentBin } from '../../scripts/agents.mjs';
import type { AgentMode } from '../../src/harness/agent-mode.ts';
import { harnesses } from '../../src/harness/registry.ts';
import type { AgentErrorKind } from '../../src/ralph/agent-events.ts';
import { scenarios } from '../model/scenarios.mjs';
import { createAgentProject as createScriptedAgent } from '../support/agent.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';
import { sandboxProblem } from '../support/sandbox.ts';

const noSandbox = sandboxProblem();

const go = ['ralph', 'Go.', '--change', change];
const once = [...go, '--max-iterations', '1', '--fail-fast'];

/** A process that lives on has no exit code. */
const endOf = { cold: 'exited', standby: 'answered', warm: 'answered' } as const;

/** Qwen Code retries a 429 for longer than a test should take, and has no option against it. */
const refusals: [number, AgentErrorKind][] = [
  [401, 'auth'],
  [429, 'rate-limit'],
  [500, 'overload'],
];

/** Without a key, the others try to reach their provider for longer than a test should take. */
const reportsSignedOut = new Set(['claude', 'copilot', 'gemini', 'pi', 'qwen']);

/** The same scenarios for every agent, in each mode that it supports. */
export const testAgent = (name: string, mode: AgentMode = 'cold') => {
  const harness = harnesses.find((known) => known.name === name)!;
  const createAgentProject = (script: Parameters<typeof createScriptedAgent>[1]) =>
    createScriptedAgent(name, script, {}, mode);

  describe(`${name}, ${mode}`, () => {
    test('completes after three iterations, with a prompt of 300 KiB', async () => {
      const project = await createAgentProject(({ iteration, step }, folder) => {
        if (step === 0)
          return { text: 'I work.', tools: [{ write: join(folder, `part-${iteration}.txt`), content: 'x\n' }] };
        return { text: iteration === 3 ? 'All is done.\n\n<promise>COMPLETE</promise>' : 'There is more to do.' };
      });
      project.write('long.md', 'word '.repeat(61_440));

      const result = await project.run('ralph', '--change', change, '--prompt-file', 'long.md', '--allow-all');

      expect(result).toMatchObject({ code: 0 });
      expect(project.history().map(({ end, completionFound, error }) => ({ end, completionFound, error }))).toEqual([
        { end: endOf[mode], completionFound: false, error: null },
        { end: endOf[mode], completionFound: false, error: null },
        { end: endOf[mode], completionFound: true, error: null },
      ]);
      for (const iteration of [1, 2, 3]) expect(project.read(`part-${iteration}.txt`)).toMatch(/^x/);
      expect(Math.max(...project.model.requests.map((request) => request.bytes))).toBeGreaterThan(300 * 1024);
    });

    test('continues if only a tool printed the promise', async () => {
      const { script } = scenarios.continues;
      const project = await createAgentProject(script);

      expect(await project.run(...once, '--allow-all')).toMatchObject({ code: 3 });

      expect(project.history()).toMatchObject([{ completionFound: false, rejected: null, error: null }]);
    });

    test.each(refusals.filter(([status]) => !(name === 'qwen' && status === 429)))(
      'fails if the provider answers %d',
      async (status, kind) => {
        const project = await createAgentProject(() => ({ status, message: 'scripted refusal' }));

        // Spool waits for a usage limit, unless there is no time left.
        expect(await project.run(...once, '--max-wait', '0s')).toMatchObject({ code: kind === 'rate-limit' ? 3 : 1 });

        expect(project.history()).toMatchObject([{ completionFound: false, error: { kind } }]);
      },
    );

    if (reportsSignedOut.has(name))
      test('prints how to sign in if the user is not signed in', async () => {
        const project = createProject();

        const path = `${agentBin(name)}:${project.env.PATH}`;
        const result = await project.start([...once, '--harness', name, '--allow-all'], { env: { PATH: path } }).result;

        expect(result).toMatchObject({ code: 1 });
        expect(project.history()).toMatchObject([
          { error: { kind: 'auth', message: expect.stringContaining(harness.advice!.auth!) } },
        ]);
      });

    test('does not write outside the project without --allow-all', async () => {
      const { script } = scenarios.denied;
      const project = await createAgentProject(script);

      await project.run(...once);

      const outside = existsSync(join(project.folder, '..', 'outside.txt'));
      // pi has no permissions to ask for.
      expect(outside).toBe(name === 'pi');
      // OpenCode stops there. The others continue, and this model then prints the promise.
      const denied = harness.capabilities.includes('denials') ? { message: expect.any(String) } : null;
      expect(project.history()).toMatchObject([
        name === 'opencode' ? { error: { kind: 'permission' }, denied } : { error: null, denied },
      ]);
    });

    if (mode !== 'cold') test('works in a sandbox by starting for each iteration', () => {});
    else if (noSandbox === null)
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
    else if (noSandbox !== null)
      test('reports what is skipped', () =>
        void process.stderr.write(`\nSKIPPED: ${name} in a sandbox (${noSandbox})\n`));

    test('leaves no process running if it is interrupted during a tool call', async () => {
      const project = await createAgentProject(() => ({
        text: 'I watch.',
        tools: [{ shell: 'while :; do echo x >> growing.txt; sleep 0.1; done' }],
      }));

      const loop = project.start(...go, '--allow-all');
      await eventually(() => project.exists('growing.txt'), 'the tool to write', 120_000);
      loop.kill('SIGINT');

      expect(await loop.result).toMatchObject({ code: 130 });
      expect(processesWith(`HOME=${project.home}`)).toEqual([]);
      expect(project.history()).toMatchObject([{ end: 'interrupted', completionFound: false }]);
    });
  });
};
