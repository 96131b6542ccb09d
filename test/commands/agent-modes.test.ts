import { describe, expect, test } from 'vitest';
import { createAcpProject } from '../support/acp.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';

const go = ['ralph', 'Go.', '--change', change, '--max-stalled', 'unlimited', '--retry-delay', '0s'];

describe.runIf(process.platform === 'linux')('agent modes', () => {
  test('standby starts the next process while the current one works', async () => {
    const project = createAcpProject({ turns: ['answer', 'answer', 'complete'] });

    const result = await project.spool(...go, '--agent-mode', 'standby');

    expect(result).toMatchObject({ code: 0 });
    const seen = project.seen();
    // The third turn also starts one, which is not used.
    expect(seen.filter(({ boot }) => boot)).toHaveLength(4);
    const sessions = seen.flatMap(({ session }) => session ?? []) as string[];
    expect(new Set(sessions.map((id) => id.split('-')[1]))).toHaveProperty('size', 3);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('a warm agent is restarted if its instructions have changed, and the run says so', async () => {
    const project = createAcpProject({ turns: ['answer', 'instructs', 'complete'] });

    const result = await project.spool(...go, '--agent-mode', 'warm');

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr.match(/is restarted: its instructions or configuration changed/g)).toHaveLength(1);
    expect(project.seen().filter(({ boot }) => boot)).toHaveLength(2);
  });

  test('a warm agent is restarted if a shell was ended that may have been its server, and the run says so once', async () => {
    const project = createAcpProject({ turns: ['serves', 'serves', 'serves', 'complete'] });

    const result = await project.spool(...go, '--agent-mode', 'warm');

    expect(result).toMatchObject({ code: 0 });
    const seen = project.seen();
    expect(seen.flatMap(({ serverAnswered }) => serverAnswered ?? [])).toEqual([true, true, true]);
    expect(seen.filter(({ boot }) => boot)).toHaveLength(4);
    expect(result.stderr.replaceAll(/\s+/g, ' ').match(/left a shell running that may be one of its servers/g)).toHaveLength(1);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('an agent of the project that speaks ACP is started for each iteration, and asks Spool', async () => {
    const project = createAcpProject(
      { turns: ['permission', 'permission', 'complete'] },
      { modelOption: 'llm', mode: 'code', env: { ACP_VARIABLE: 'set' } },
    );

    const refused = await project.spool(...go, '--model', 'some/model', '--max-iterations', '1');

    expect(refused.stderr).toContain('run with --allow-all, or add "Edit(//etc/spool-test)" to "permissions.allow"');
    expect(project.history()).toMatchObject([
      { end: 'answered', error: { kind: 'permission' }, denied: { tools: ['write'], allowAllHelps: true } },
    ]);
    const seen = project.seen();
    expect(seen.filter(({ boot }) => boot)).toMatchObject([{ variable: 'set' }]);
    expect(seen).toContainEqual({
      method: 'session/set_config_option',
      sessionId: expect.any(String),
      configId: 'llm',
      value: 'some/model',
    });
    expect(seen).toContainEqual({ method: 'session/set_mode', sessionId: expect.any(String), modeId: 'code' });
    expect(seen).toContainEqual({ permission: { outcome: 'selected', optionId: 'reject_once' } });

    expect(await project.spool(...go, '--allow-all')).toMatchObject({ code: 0 });
    expect(project.seen()).toContainEqual({ permission: { outcome: 'selected', optionId: 'allow_once' } });
    expect(project.seen().filter(({ boot }) => boot)).toHaveLength(3);
  });

  test('spool doctor --probe tries the mode that would be used', async () => {
    const project = createAcpProject({ turns: ['complete'] });

    const result = await project.spool('doctor', '--probe', '--harness', 'scripted', '--agent-mode', 'warm', '--json');

    const checks = JSON.parse(result.stdout) as { about: string }[];
    expect(JSON.stringify(checks.filter(({ about }) => about === 'scripted'))).toContain('answered in warm mode');
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('falls back to cold if the agent does not speak ACP, and says so once', async () => {
    const project = createProject({ agent: ['echo working', "echo '<promise>COMPLETE</promise>'"] });

    const result = await project.spool(...go, '--agent-mode', 'warm');

    expect(result).toMatchObject({ code: 0 });
    expect(
      result.stderr
        .replaceAll(/\s+/g, ' ')
        .match(/OpenCode cannot run in warm mode \(it exited with code 1 when it was started: unknown command: acp\)/g),
    ).toHaveLength(1);
    expect(project.history()).toMatchObject([{ end: 'exited' }, { end: 'exited', completionFound: true }]);
  });
});
