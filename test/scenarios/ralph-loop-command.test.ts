import { describe, expect, test } from 'vitest';
import { change, createProject } from '../support/project.ts';
import { promise, says } from '../support/agents.ts';

describe('Requirement: Ralph loop command', () => {
  // @scenario ralph-loop/ralph-loop-command/run-against-a-change-proposal
  test('Run against a change proposal', async () => {
    const project = createProject({ agent: [promise] });

    const result = await project.spool('ralph', 'Build it.', '--change', change);

    expect(result).toMatchObject({ code: 0 });
    const [call, ...more] = project.calls();
    expect(more).toEqual([]);
    expect(call!.prompt).toContain(`## Change Proposal (${change})\n\n# Add the loop\n\nThe proposal of the loop.`);
    expect(call!.prompt.trimEnd().endsWith('Build it.')).toBe(true);
  });

  // @scenario ralph-loop/ralph-loop-command/alias-command
  test('Alias command', async () => {
    const project = createProject({ agent: [says('one'), promise, says('one'), promise] });

    const ralph = await project.spool('ralph', 'Build it.', '--change', change);
    const loop = await project.spool('loop', 'Build it.', '--change', change);

    expect(loop.code).toBe(ralph.code);
    expect(loop.stdout).toBe(ralph.stdout);
    const [first, second, third, fourth] = project.calls();
    expect([third!.prompt, fourth!.prompt]).toEqual([first!.prompt, second!.prompt]);
  });
});
