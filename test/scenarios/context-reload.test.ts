import { describe, expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Context is reloaded every iteration', () => {
  // @scenario ralph-telemetry/context-is-reloaded-every-iteration/mid-loop-context-updates-appear-on-the-next-iteration
  test('Mid-loop context updates appear on the next iteration', async () => {
    const project = createProject({ agent: [waitsFor('go-on'), promise] });

    const loop = project.start(['ralph', 'Build it.', '--change', change]);
    await loop.printed('waiting for go-on');
    await project.spool('ralph', '--add-context', 'The database moved.', '--change', change);
    project.write('go-on', '');

    expect(await loop.result).toMatchObject({ code: 0 });
    const [first, second] = project.calls();
    expect(first!.prompt).not.toContain('The database moved.');
    expect(second!.prompt).toContain('The database moved.');
  });
});
