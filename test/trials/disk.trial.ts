import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { change, createProject, spoolProgram, startProcess, type TestProject } from '../support/project.ts';
import { createRandom, report } from '../support/trials.ts';

/** Runs Spool with its state folder on a separate file system. Returns a reader for its final content. */
const runOnMount = async (project: TestProject, mount: string, args: readonly string[]) => {
  const state = project.path('.spool/.state');
  const out = join(project.home, 'state');
  mkdirSync(state, { recursive: true });
  const script = `${mount}; "$@"; code=$?; cp -r '${state}' '${out}'; exit $code`;
  const spool = [process.execPath, spoolProgram, ...args];
  const { result } = startProcess('unshare', ['-rm', 'sh', '-c', script, 'sh', ...spool], {
    cwd: project.folder,
    env: project.env,
  });
  return { ...(await result), out: (name: string) => readFileSync(join(out, 'ralph', change, name), 'utf8') };
};

test('a disk that fills up during a run is reported in one line', async () => {
  const random = createRandom('disk');
  const sizes = Array.from({ length: 10 }, () => 60 + Math.floor(random() * 200));
  let records = 0;
  for (const size of sizes) {
    const project = createProject({ agent: ['head -c 15000 /dev/urandom | base64; echo $$ >> work.txt'] });
    const mount = `mount -t tmpfs -o size=${size}k,mode=700 tmpfs '${project.path('.spool/.state')}'`;
    const args = ['ralph', '--change', change, '--no-commit', '--no-stream'];

    const result = await runOnMount(project, mount, args);

    expect(result.code).toBe(1);
    const lines = result.stderr.trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith('spool: '))).toEqual([
      expect.stringMatching(/^spool: .*the disk is full/),
    ]);
    expect(result.stderr).not.toContain('    at ');
    const announced = lines.filter((line) => /^\d\d:\d\d:\d\d Iteration \d+: \d/.test(line)).length;
    const whole = result.out('history.jsonl').split('\n').slice(0, -1);
    expect(whole.map((line) => (JSON.parse(line) as { iteration: number }).iteration).slice(0, announced)).toEqual(
      Array.from({ length: announced }, (_, index) => index + 1),
    );
    records += announced;
  }
  report({
    what: 'a full disk (tmpfs of 60 to 260 KB) in the middle of a run',
    trials: sizes.length,
    found: `one line and exit code 1 each time, ${records} records announced, all readable`,
  });
});

test('a read-only state folder is reported in one line', async () => {
  const project = createProject({ agent: ['echo hi'] });
  mkdirSync(project.path('.spool/.state'));
  const state = project.path('.spool/.state');
  const mount = `mount --bind '${state}' '${state}' && mount -o remount,ro,bind '${state}'`;

  const run = await runOnMount(project, mount, ['ralph', '--change', change]).catch((error: unknown) => error);

  expect(run).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^spool: .*\.state.*: the file system is read-only/),
  });
  expect(project.calls()).toEqual([]);
  report({ what: 'a read-only state folder', trials: 1, found: 'one line, exit code 1, no agent started' });
});

test('a project on a read-only file system can be looked at', async () => {
  const project = createProject({ agent: [`echo x > work.txt; echo '<promise>COMPLETE</promise>'`] });
  await project.spool('ralph', '--change', change);
  const commands = ['status', `status ${change}`, `logs ${change}`, `diff ${change} --stat`, 'list', `show ${change}`];
  const folder = project.folder;
  const script = `mount --bind '${folder}' '${folder}' && mount -o remount,ro,bind '${folder}' && cd '${folder}'
    ${commands.map((words) => `'${process.execPath}' '${spoolProgram}' ${words} || exit 9`).join('\n')}`;

  const { code, stdout, stderr } = await startProcess('unshare', ['-rm', 'sh', '-c', script], {
    cwd: project.folder,
    env: project.env,
  }).result;

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/work\.txt \| 1 \+/);
  report({ what: 'a read-only project', trials: 1, found: 'status, logs, diff, list and show work' });
});
