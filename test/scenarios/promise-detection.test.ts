import { describe, expect, test } from 'vitest';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Robust completion promise detection', () => {
  test('Completion promise detection ignores whitespace', async () => {
    const project = createProject({ agent: [String.raw`printf '<promise>\nCOMPLETE\n</promise>'`] });

    const result = await project.spool('ralph', 'Build it.', '--change', change, '--completion-promise', 'COMPLETE');

    expect(result.code).toBe(0);
    expect(project.history()).toMatchObject([{ iteration: 1, completionFound: true }]);
  });
});
