import { describe, expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

const label = '## Additional Context (added by user mid-loop)';

describe('Requirement: Integrate user-added context into preamble', () => {
  // @scenario context-integration/integrate-user-added-context-into-preamble/context-section-when-context-exists
  test('Context section when context exists', async () => {
    const project = createProject({ agent: [promise] });
    await project.spool('ralph', '--add-context', 'Use the new API.', '--change', change);

    await project.spool('ralph', 'Build it.', '--change', change);

    const { prompt } = project.calls()[0]!;
    expect(prompt).toContain(`\n---\n\n${label}\n\nUse the new API.\n\n---\n\n## Your Task\n`);
    expect(prompt.indexOf('## Your Task')).toBeLessThan(prompt.indexOf('## Change Proposal'));
  });

  // @scenario context-integration/integrate-user-added-context-into-preamble/no-context-section-when-context-is-empty
  test('No context section when context is empty', async () => {
    const project = createProject({ agent: [promise] });
    project.write(`.spool/.state/ralph/${change}/context.txt`, ' \n\n');

    await project.spool('ralph', 'Build it.', '--change', change);

    const { prompt } = project.calls()[0]!;
    expect(prompt).not.toContain('## Additional Context');
    expect(prompt.match(/\n---\n\n## Your Task\n/g)).toHaveLength(1);
  });

  // @scenario context-integration/integrate-user-added-context-into-preamble/context-cleared-between-iterations
  test('Context cleared between iterations', async () => {
    const project = createProject({ agent: [waitsFor('go-on'), promise] });
    await project.spool('ralph', '--add-context', 'Use the new API.', '--change', change);

    const loop = project.start(['ralph', 'Build it.', '--change', change]);
    await loop.printed('waiting for go-on');
    await project.spool('ralph', '--clear-context', '--change', change);
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({ code: 0 });
    const [first, second] = project.calls();
    expect(first!.prompt).toContain(label);
    expect(second!.prompt).not.toContain('## Additional Context');
    expect(second!.prompt).not.toContain('Use the new API.');
  });
});
