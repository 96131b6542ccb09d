import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Context injection commands', () => {
  // @scenario ralph-telemetry/context-injection-commands/add-context-appends-to-per-change-context-file
  test('Add context appends to per-change context file', async () => {
    const project = createProject();

    const first = await project.spool('ralph', '--add-context', 'Use the new API.', '--change', change);
    const second = await project.spool('ralph', '--add-context', 'Mind $HOME & `quotes`.', '--change', '002-01');

    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toBe(`Added to the context of ${change}. The next run will read it.\n`);
    expect(second.code).toBe(0);
    expect(readFileSync(project.stateFile('context.txt'), 'utf8')).toBe('Use the new API.\nMind $HOME & `quotes`.\n');
  });

  // @scenario ralph-telemetry/context-injection-commands/clear-context-empties-the-per-change-context-file
  test('Clear context empties the per-change context file', async () => {
    const project = createProject();
    await project.spool('ralph', '--add-context', 'Use the new API.', '--change', change);

    const cleared = await project.spool('ralph', '--clear-context', '--change', change);

    expect(cleared).toMatchObject({ code: 0, stdout: `Cleared the context of ${change}.\n`, stderr: '' });
    expect(readFileSync(project.stateFile('context.txt'), 'utf8')).toBe('');
  });
});
