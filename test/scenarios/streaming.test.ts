import { describe, expect, test } from 'vitest';
import { promise, says, waitsFor } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Streaming control', () => {
  // @scenario ralph-telemetry/streaming-control/no-stream-disables-live-output-streaming
  test('No-stream disables live output streaming', async () => {
    const project = createProject({ agent: [`${says('words of the agent')}; ${promise}`] });

    const silent = await project.spool('ralph', 'Build it.', '--no-stream', '--change', change);
    expect(silent).toMatchObject({ code: 0, stdout: '' });
    expect(silent.stderr).not.toContain('words of the agent');
    expect(silent.stderr).toContain('Promise accepted');

    // By default the output appears while the agent is still running.
    const live = createProject({ agent: [`${says('words of the agent')}; ${waitsFor('go-on')}; ${promise}`] });
    const loop = live.start(['ralph', 'Build it.', '--change', change]);
    await loop.printed('words of the agent');
    live.write('go-on', '');
    expect(await loop.result).toMatchObject({ code: 0 });
  });
});
