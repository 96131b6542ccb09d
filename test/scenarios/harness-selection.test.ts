import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Harness selection and model', () => {
  // @scenario ralph-loop/harness-selection-and-model/use-opencode-harness
  test('Use OpenCode harness', async () => {
    const project = createProject({ agent: [promise] });

    const named = await project.spool('ralph', 'Build it.', '--change', change, '--harness', 'opencode');
    const byDefault = await project.spool('ralph', 'Build it.', '--change', change);

    expect([named.code, byDefault.code]).toEqual([0, 0]);
    for (const call of project.calls()) {
      expect(call.args[0]).toBe('run');
      expect(call.prompt).toContain('Build it.');
      expect(call.args.join(' ')).not.toContain('Build it.');
    }
    expect(project.history().map((record) => record.harness)).toEqual(['opencode', 'opencode']);
  });

  // @scenario ralph-loop/harness-selection-and-model/pass-model-to-harness
  test('Pass model to harness', async () => {
    const project = createProject({ agent: [promise] });

    await project.spool('ralph', 'Build it.', '--change', change, '--model', 'anthropic/claude-sonnet');

    const { args } = project.calls()[0]!;
    expect(args).toContain('--model=anthropic/claude-sonnet');
    expect(project.history()[0]!.model).toBe('anthropic/claude-sonnet');
  });
});
