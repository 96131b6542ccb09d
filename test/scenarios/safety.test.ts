import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

const argumentsWith = async (...flags: string[]) => {
  const project = createProject({ agent: [promise] });
  const { stderr } = await project.spool('ralph', 'Build it.', '--change', change, ...flags);
  const { args, env } = project.calls()[0]!;
  return { args, stderr, permission: env.OPENCODE_PERMISSION };
};

describe('Requirement: Safety and permissions', () => {
  // @scenario ralph-loop/safety-and-permissions/allow-all-flag-enables-auto-approval
  test('Allow-all flag enables auto-approval', async () => {
    const allowed = await argumentsWith('--allow-all');
    expect(allowed.args).toContain('--auto');
    expect(allowed.stderr).toContain('everything is allowed without asking (--allow-all)');

    const plain = await argumentsWith();
    expect(plain.args).not.toContain('--auto');
    expect(plain.permission).toBeUndefined();
    expect(plain.stderr).toContain('own permission rules');
  });

  // @scenario ralph-loop/safety-and-permissions/allow-all-aliases
  test('Allow-all aliases', async () => {
    expect((await argumentsWith('--yolo')).args).toContain('--auto');
    expect((await argumentsWith('--dangerously-allow-all')).args).toContain('--auto');
  });
});
