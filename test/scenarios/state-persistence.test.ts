import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Per-change state persistence', () => {
  // @scenario ralph-loop/per-change-state-persistence/state-stored-per-change
  test('State stored per change', async () => {
    const project = createProject({ agent: [promise] });

    await project.spool('ralph', 'Build it.', '--change', change);

    expect(project.state()).toMatchObject({ v: 2, change, status: 'complete', iteration: 1, finishedIterations: 1 });
    expect(project.history()).toHaveLength(1);
    const { run } = project.state();
    expect(existsSync(project.stateFile(`runs/${run}/0001.prompt.md`))).toBe(true);
    expect(existsSync(project.stateFile(`runs/${run}/0001.log`))).toBe(true);
    expect(project.git('status', '--porcelain')).toBe('');
  });

  // @scenario ralph-loop/per-change-state-persistence/status-command
  test('Status command', async () => {
    const project = createProject({ agent: [says('not yet'), promise] });
    const status = ['ralph', '--status', '--change', change];

    const before = await project.spool(...status);
    expect(before).toMatchObject({ code: 0, stderr: '' });
    expect(before.stdout).toContain(`${change}: no run yet`);
    expect(project.exists('.spool/.state')).toBe(false);

    await project.spool('ralph', 'Build it.', '--change', change);
    const after = await project.spool(...status);
    expect(after.code).toBe(0);
    expect(after.stdout).toContain(`✔ ${change}  Complete: done in iteration 2.`);
    expect(after.stdout).toContain('2/50 iterations');
    expect(after.stdout).toMatch(/^ +1 {2}no changes/m);
    expect(after.stdout).toMatch(/^ +2 {2}done/m);
  });
});
