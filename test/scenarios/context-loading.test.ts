import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Load context from state directory', () => {
  // @scenario context-integration/load-context-from-state-directory/load-existing-context-file
  test('Load existing context file', async () => {
    const project = createProject({ agent: [promise] });
    project.write(`.spool/.state/ralph/${change}/context.txt`, 'Written by hand.\nIn two lines.');
    project.write('.spool/.state/ralph/009-01_other/context.txt', 'Of another change.');

    await project.spool('ralph', 'Build it.', '--change', change);

    const { prompt } = project.calls()[0]!;
    expect(prompt).toContain('Written by hand.\nIn two lines.\n\n---');
    expect(prompt).not.toContain('Of another change.');
  });

  // @scenario context-integration/load-context-from-state-directory/handle-missing-context-file
  test('Handle missing context file', async () => {
    const project = createProject({ agent: [promise] });

    const result = await project.spool('ralph', 'Build it.', '--change', change);

    expect(result.code).toBe(0);
    expect(project.calls()[0]!.prompt).not.toContain('## Additional Context');
    expect(existsSync(project.stateFile('context.txt'))).toBe(false);
  });
});
