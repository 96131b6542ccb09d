import { describe, expect, test } from 'vitest';
import { processStart } from '../../src/process/start-time.ts';
import { type AcpScript, createAcpProject } from '../support/acp.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';

const go = ['ralph', 'Go.', '--change', change, '--max-stalled', 'unlimited', '--retry-delay', '0s'];

describe.runIf(process.platform === 'linux')('agent modes', () => {
  test('standby starts the next process while the current one works', async () => {
    const project = createAcpProject({ turns: ['answer', 'answer', 'complete beside another'] });

    const result = await project.spool(...go, '--agent-mode', 'standby');

    expect(result).toMatchObject({ code: 0 });
    const seen = project.seen();
    // The third turn also starts one, which is not used.
    expect(seen.filter(({ boot }) => boot)).toHaveLength(4);
    const sessions = seen.flatMap(({ session }) => session ?? []) as string[];
    expect(new Set(sessions.map((id) => id.split('-')[1]))).toHaveProperty('size', 3);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('standby does not wait for a process that still starts when the run ends, and ends what it started', async () => {
    const project = createAcpProject({
      boots: ['ok', 'silent with a helper'],
      turns: ['complete beside another'],
    });

    const result = await project.spool(...go, '--agent-mode', 'standby');

    expect(result).toMatchObject({ code: 0 });
    const seen = project.seen();
    const boots = seen.filter(({ boot }) => boot);
    expect(boots).toHaveLength(2);
    const ends = seen.filter(({ ended, pid }) => ended && pid === boots[1]!.pid);
    expect(ends).not.toEqual([]);
    // Without the end of the run, it would be ended after the minute that it may take to start. Its clock starts later.
    for (const { afterMs } of ends) expect(afterMs).toBeLessThan(50_000);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('standby notices what a turn changes while the next process starts', async () => {
    const project = createAcpProject({
      boots: ['ok', 'slow', 'ok'],
      turns: ['instructs', 'answer', 'complete beside another'],
    });

    const result = await project.spool(...go, '--agent-mode', 'standby');

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr.match(/is restarted: its instructions or configuration changed/g)).toHaveLength(1);
    // One was started ahead of each iteration, and replaced ahead of the second.
    expect(project.seen().filter(({ boot }) => boot)).toHaveLength(5);
  });

  test('a warm agent is restarted if its instructions have changed, and the run says so', async () => {
    const project = createAcpProject({ turns: ['answer', 'instructs', 'complete'] });

    const result = await project.spool(...go, '--agent-mode', 'warm');

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr.match(/is restarted: its instructions or configuration changed/g)).toHaveLength(1);
    expect(project.seen().filter(({ boot }) => boot)).toHaveLength(2);
  });

  test('a warm agent is restarted if a shell was ended that may have been its server, and the run says so', async () => {
    const project = createAcpProject({ turns: ['serves', 'serves', 'serves', 'complete'] });

    const result = await project.spool(...go, '--agent-mode', 'warm');

    expect(result).toMatchObject({ code: 0 });
    const seen = project.seen();
    expect(seen.flatMap(({ serverAnswered }) => serverAnswered ?? [])).toEqual([true, true, true]);
    expect(seen.filter(({ boot }) => boot)).toHaveLength(4);
    const said = result.stderr.replaceAll(/\s+/g, ' ');
    expect(
      said.match(/is restarted: a shell that it left running, which was ended, may be one of its servers/g),
    ).toHaveLength(3);
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
      {
        end: 'answered',
        error: { kind: 'permission' },
        denied: {
          tools: ['write'],
          allowAllHelps: true,
          calls: [
            {
              tool: 'write',
              reason: 'no rule allows to edit /etc/spool-test',
              suggestedRule: 'Edit(//etc/spool-test)',
            },
          ],
        },
      },
    ]);
    expect(refused.stderr + refused.stdout).toContain('! write denied: no rule allows to edit /etc/spool-test');
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

  describe('spool doctor --probe', () => {
    const probe = async (script: AcpScript, ...flags: string[]) => {
      const project = createAcpProject(script);
      const result = await project.spool('doctor', '--probe', '--harness', 'scripted', '--json', ...flags);
      const checks = JSON.parse(result.stdout) as { about: string; status: string; message: string }[];
      const messages = checks
        .filter(({ about, message }) => about === 'scripted' && message.startsWith('probe: '))
        .map(({ status, message }) => `${status} ${message.slice('probe: '.length)}`);
      expect(processesWith(`HOME=${project.home}`)).toEqual([]);
      return { messages, seen: project.seen() };
    };

    test('runs both tasks in one process, in a new session each', async () => {
      const { messages, seen } = await probe({ turns: ['complete'] }, '--agent-mode', 'warm');

      expect(messages).toEqual([
        'ok in warm mode: your setting',
        'ok read a prompt of 200 KiB and printed the promise',
        'ok answered',
        'fail did not write a file',
        'ok wrote nothing outside the project without --allow-all',
        'ok the second task knew nothing of the first',
        'ok left nothing running',
      ]);
      expect(seen.filter(({ boot }) => boot)).toHaveLength(1);
      expect(new Set(seen.flatMap(({ session }) => session ?? [])).size).toBe(2);
    });

    test('finds an agent whose second session knows the first', async () => {
      const { messages } = await probe({ turns: ['remembers'] }, '--agent-mode', 'warm');

      expect(messages).toContain('warn the second task knew what was said in the first');
    });

    test('finds an agent that does not keep running', async () => {
      const { messages } = await probe({ turns: ['complete, then exit 0'] }, '--agent-mode', 'warm');

      expect(messages).toContain('warn exited after its answer');
    });

    test.each(['cold', 'warm'])('finds and ends what a run in %s mode would leave running', async (mode) => {
      const { messages, seen } = await probe({ turns: ['hides'] }, '--agent-mode', mode);

      expect(messages).toContain('warn left 2 processes running that a run would not find');
      expect(seen.flatMap(({ hidden }) => hidden ?? []).map((pid) => processStart(Number(pid)))).toEqual([null, null]);
    });

    test('says why a sandbox is not tried in warm mode', async () => {
      const { messages } = await probe({ turns: ['complete'] }, '--agent-mode', 'warm', '--sandbox');

      expect(messages[0]).toBe('ok in cold mode: a sandbox ends with each iteration');
    });
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
