import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { createOpencodeProject } from '../support/acp.ts';
import { processesWith } from '../support/processes.ts';
import { change } from '../support/project.ts';

const go = ['ralph', 'Go.', '--change', change, '--max-stalled', 'unlimited', '--retry-delay', '0s'];
const starts = (project: ReturnType<typeof createOpencodeProject>) => project.seen().filter(({ boot }) => boot);

/** The notices of a run that are about modes. */
const modeNotices = (stderr: string) => stderr.replaceAll(/\s+/g, ' ').match(/(?:warm|cold|standby) mode/g) ?? [];

describe.runIf(process.platform === 'linux')('the default mode of OpenCode', () => {
  test('is one process for all iterations, without a message', async () => {
    const project = createOpencodeProject({ turns: ['answer', 'answer', 'complete'] });

    const result = await project.spool(...go);

    expect(result).toMatchObject({ code: 0 });
    expect(modeNotices(result.stderr)).toEqual([]);
    expect(starts(project)).toHaveLength(1);
    expect(project.calls()).toEqual([]);
    expect(project.history()).toMatchObject(Array.from({ length: 3 }, () => ({ end: 'answered', exitCode: null })));
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('is shown by the end of a run, status and logs like any other', async () => {
    const project = createOpencodeProject({ turns: ['answer', 'complete'] });

    const { stderr } = await project.spool(...go);
    const [status, logs, raw] = await Promise.all([
      project.spool('status', change),
      project.spool('logs', change, '2'),
      project.spool('logs', change, '2', '--raw'),
    ]);

    // A process that lives on has no exit code.
    for (const text of [stderr, status.stdout]) expect(text).toMatch(/^ +# +result +took /m);
    expect(logs.stdout).toContain('All is done.\n\n<promise>COMPLETE</promise>');
    expect(raw.stdout).toMatch(/^> \{.*"method":"session\/prompt"/m);
    expect(raw.stdout).toContain('"stopReason":"end_turn"');
  });

  test('costs one process in a run of one iteration', async () => {
    const project = createOpencodeProject({ turns: ['answer'] });

    expect(await project.spool(...go, '--max-iterations', '1')).toMatchObject({ code: 3 });

    expect(starts(project)).toHaveLength(1);
    expect(project.seen().filter(({ turn }) => turn)).toHaveLength(1);
    expect(project.calls()).toEqual([]);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('is cold for a version whose server takes no password, and the run says so once', async () => {
    const project = createOpencodeProject({ boots: ['open'] }, { agent: ['echo working', promise] });

    const result = await project.spool(...go);

    expect(result).toMatchObject({ code: 0 });
    const said = result.stderr.replaceAll(/\s+/g, ' ');
    expect(said.match(/OpenCode cannot run in warm mode \(its server takes no password\)/g)).toHaveLength(1);
    expect(starts(project)).toHaveLength(1);
    expect(project.history()).toMatchObject([{ end: 'exited' }, { end: 'exited', completionFound: true }]);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('names the permission rules that do not apply in cold mode when it falls back', async () => {
    const rules = ['--allow', 'Delete(src/**)', '--allow', 'Bash(npm test:*)'];
    const warm = createOpencodeProject({ turns: ['complete'] });
    const old = createOpencodeProject({ boots: ['dies'] }, { agent: [promise] });

    const said = 'OpenCode has no equivalent for these permission rules, so they do not apply to it: Delete(src/**).';
    expect((await warm.spool(...go, ...rules)).stderr).not.toContain('no equivalent');
    expect((await old.spool(...go, ...rules)).stderr.replaceAll(/\s+/g, ' ')).toContain(said);
  });

  test('is one process for each of the worktrees that run at the same time', async () => {
    const second = '002-02_second';
    const project = createOpencodeProject(
      { turns: ['answer', 'answer', 'complete'] },
      { files: { [`.spool/changes/${second}/proposal.md`]: '# Second\n' } },
    );

    const args = ['--change', change, '--change', second, '--parallel', '2', '--max-stalled', 'unlimited'];
    expect(await project.spool('ralph', 'Go.', ...args)).toMatchObject({ code: 0 });

    expect(starts(project)).toHaveLength(2);
    const folders = project.seen().flatMap(({ turn, cwd }) => (turn ? [cwd] : []));
    expect(new Set(folders)).toEqual(new Set([change, second].map((each) => project.path(`.spool/worktrees/${each}`))));
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('does not apply to other agents of a list, and one process serves all models of a ladder', async () => {
    const config = JSON.stringify({ harnesses: { mine: { command: 'sh', args: ['-c', promise] } } });
    const files = { '.spool/config.json': config };
    const list = createOpencodeProject({ turns: ['refused'] }, { files });
    const ladder = createOpencodeProject({ turns: ['answer', 'answer', 'complete'] });

    expect(await list.spool(...go, '--harness', 'opencode,mine')).toMatchObject({ code: 0 });
    expect(await ladder.spool(...go, '--escalate', 'opencode:a/small,opencode:a/large')).toMatchObject({ code: 0 });

    expect(list.history()).toMatchObject([{ harness: 'mine', end: 'exited', deferred: [{ harness: 'opencode' }] }]);
    expect(starts(ladder)).toHaveLength(1);
    expect(ladder.history().map(({ model }) => model)).toEqual(['a/small', 'a/small', 'a/large']);
    for (const { home } of [list, ladder]) expect(processesWith(`HOME=${home}`)).toEqual([]);
  });

  test('is cold for a reviewer', async () => {
    const project = createOpencodeProject(
      { turns: ['complete'] },
      { agent: [`echo 'I tried it.'; echo '<verdict>PASS</verdict>'`] },
    );

    const result = await project.spool(...go, '--review', 'opencode:other/model', '--verify', 'true');

    expect(result).toMatchObject({ code: 0 });
    expect(starts(project)).toHaveLength(1);
    expect(project.calls()).toHaveLength(1);
    expect(project.calls()[0]!.args).toContain('--model=other/model');
  });
});
