import { describe, expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Iteration prompt includes structured preamble and labeled context', () => {
  // @scenario ralph-telemetry/iteration-prompt-includes-structured-preamble-and-4bd260/preamble-is-included-in-iteration-prompt
  test('Preamble is included in iteration prompt', async () => {
    const project = createProject({ agent: [says('not yet'), promise] });

    await project.spool('ralph', 'Build it.', '--change', change, '--max-iterations', '7');

    const prompts = project.calls().map((call) => call.prompt);
    expect(prompts).toHaveLength(2);
    prompts.forEach((prompt, index) => {
      expect(prompt.startsWith(`# Ralph Wiggum Loop - Iteration ${index + 1}\n`)).toBe(true);
      expect(prompt).toContain(`Progress: iteration ${index + 1} / 7 (min: 1)`);
      for (const heading of ['## Instructions', '## Critical Rules', '## Autonomy Requirements'])
        expect(prompt).toContain(`\n${heading}\n`);
    });
  });

  // @scenario ralph-telemetry/iteration-prompt-includes-structured-preamble-and-4bd260/context-section-is-labeled-when-context-exists
  test('Context section is labeled when context exists', async () => {
    const project = createProject({ agent: [promise] });
    await project.spool('ralph', '--add-context', 'Use the new API.', '--change', change);

    await project.spool('ralph', 'Build it.', '--change', change);

    expect(project.calls()[0]!.prompt).toContain(
      '\n## Additional Context (added by user mid-loop)\n\nUse the new API.\n',
    );
  });
});
