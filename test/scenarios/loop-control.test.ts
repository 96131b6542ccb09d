import { describe, expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Loop control and completion promise', () => {
  // @scenario ralph-loop/loop-control-and-completion-promise/completion-promise-ends-the-loop
  test('Completion promise ends the loop', async () => {
    const project = createProject({ agent: [says('not yet'), promise, says('never')] });

    const result = await project.spool('ralph', 'Build it.', '--change', change);

    expect(result.code).toBe(0);
    expect(result.stderr).toContain('Complete: done in iteration 2');
    expect(project.calls()).toHaveLength(2);
    expect(project.history().map((record) => record.completionFound)).toEqual([false, true]);

    const bounded = await project.spool('ralph', 'Build it.', '--change', change, '--max-iterations', '1');
    expect(bounded.code).toBe(3);
    expect(bounded.stderr).toContain('Not complete: stopped at --max-iterations 1');
    expect(project.calls()).toHaveLength(3);
  });

  // @scenario ralph-loop/loop-control-and-completion-promise/minimum-iterations
  test('Minimum iterations', async () => {
    const project = createProject({ agent: [promise] });

    const result = await project.spool('ralph', 'Build it.', '--change', change, '--min-iterations', '3');

    expect(result.code).toBe(0);
    expect(project.history().map((record) => record.iteration)).toEqual([1, 2, 3]);
  });
});
