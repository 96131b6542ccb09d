import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Prompt file input', () => {
  // @scenario ralph-telemetry/prompt-file-input/prompt-loaded-from-file
  test('Prompt loaded from file', async () => {
    const project = createProject({
      agent: [promise],
      files: { 'src/task.md': '--first line\n\nlast line "quoted"\n' },
    });

    const fromRoot = await project.spool('ralph', '--prompt-file', 'src/task.md', '--change', change);
    const fromSubfolder = await project.start(['ralph', '--prompt-file', 'task.md', '--change', change], { cwd: 'src' })
      .result;

    expect([fromRoot.code, fromSubfolder.code]).toEqual([0, 0]);
    for (const { prompt } of project.calls())
      expect(prompt.endsWith('---\n\n--first line\n\nlast line "quoted"\n')).toBe(true);
  });
});
