import { describe, expect, test } from 'vitest';
import { fails, promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Loop resilience on harness failure', () => {
  // @scenario ralph-telemetry/loop-resilience-on-harness-failure/non-zero-harness-exit-does-not-stop-the-loop
  test('Non-zero harness exit does not stop the loop', async () => {
    const project = createProject({ agent: [fails(3), promise] });

    const result = await project.spool('ralph', 'Build it.', '--change', change, '--retry-delay', '1ms');

    expect(result.code).toBe(0);
    expect(project.history()).toMatchObject([
      { iteration: 1, exitCode: 3, error: { message: 'the agent exited with code 3' } },
      { iteration: 2, exitCode: 0, error: null },
    ]);
    expect(project.calls()[1]!.prompt).toContain(
      '## Result of Iteration 1\n\nIt failed: the agent exited with code 3.',
    );

    const bounded = createProject({ agent: [fails(3)] });
    const limit = await bounded.spool(
      'ralph',
      'x',
      '--change',
      change,
      '--max-iterations',
      '2',
      '--retry-delay',
      '1ms',
    );
    expect(limit.code).toBe(3);
    expect(bounded.history()).toHaveLength(2);
  });

  // @scenario ralph-telemetry/loop-resilience-on-harness-failure/fail-fast-stops-the-loop-on-harness-failure
  test('Fail-fast stops the loop on harness failure', async () => {
    const project = createProject({ agent: [fails(3), promise] });

    const result = await project.spool('ralph', 'Build it.', '--change', change, '--fail-fast');

    expect(result.code).toBe(1);
    expect(result.stderr).toContain('Failed: iteration 1 failed (--fail-fast): the agent exited with code 3');
    expect(project.history()).toMatchObject([{ iteration: 1, exitCode: 3 }]);
    expect(project.state()).toMatchObject({ status: 'failed' });
  });
});
