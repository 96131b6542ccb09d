import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { endsSoon } from '../support/hanging-git.ts';
import { startReceiver } from '../support/receiver.ts';
import { change, createProject, spoolProgram, startProcess } from '../support/project.ts';

/** Agents and clones that interfere with the commands that steer, show and complete runs. */

const run = ['ralph', 'Build it.', '--change', change];
const control = `.spool/.state/ralph/${change}/control.jsonl`;

describe('an agent that writes control.jsonl', () => {
  test('cannot lift a pause by repeating a request of the user', async () => {
    const repeat = `cat "$HOME/resume" >> ${control}`;
    const project = createProject({ agent: [waitsFor('one'), `${waitsFor('two')}; ${repeat}`, promise] });
    const loop = project.start(run);
    await loop.printed('waiting for one');
    await project.spool('pause', change);
    await project.spool('resume', change);
    const sent = readFileSync(project.path(control), 'utf8').split('\n');
    writeFileSync(join(project.home, 'resume'), `${sent.find((line) => line.includes('"resume"'))}\n`);
    project.write('one', '');
    await loop.printed('waiting for two');
    await project.spool('pause', change);
    project.write('two', '');

    await loop.printed('Paused.');
    await project.spool('stop', change);
    await loop.result;
    expect(project.calls()).toHaveLength(2);
  });

  test.each([
    ['flooding it', `while :; do head -c 500000 /dev/zero | tr '\\0' x | fold -w 99 >> ${control}; done`],
    ['deleting it', `while :; do rm -f ${control}; done`],
    ['replacing it with a FIFO', `rm -f ${control}; mkfifo ${control}; sleep 1000`],
  ])('cannot hide a stop by %s', async (_, attack) => {
    const project = createProject({ agent: [`echo attacking; ${attack}`] });
    const loop = project.start([...run, '--stop-grace', '300ms']);
    await loop.printed('attacking');

    await project.spool('stop', change, '--now');

    expect(await endsSoon(loop.result)).toMatchObject({ code: 143 });
  });
});

describe('a run in the background', () => {
  test('has neither its prompt nor addresses of notifications on its command line', async () => {
    const { host, received } = await startReceiver();
    const project = createProject({ agent: [`ps -eo args > "$HOME/ps"; ${promise}`] });
    const args = ['ralph', 'Prompt-4711', '--change', change, '--detach'];

    const { code } = await project.spool(...args, '--notify', `http://${host}/Token-4711`, '--notify', 'echo one');

    expect(code).toBe(0);
    await eventually(() => received.length === 1, 'the notification');
    expect(received[0]).toMatchObject({ path: '/Token-4711', body: { event: 'complete' } });
    expect(readFileSync(join(project.home, 'ps'), 'utf8')).not.toContain('-4711');
    expect(project.calls()[0]!.prompt).toContain('Prompt-4711');
  });

  test('can have a prompt that is too long for a command line', async () => {
    const project = createProject({ agent: [promise] });
    project.write('prompt.md', `Begin. ${'All work and no play. '.repeat(20_000)}`);

    const result = await project.spool('ralph', '--change', change, '--prompt-file', 'prompt.md', '--detach');

    expect(result).toMatchObject({ code: 0 });
    await eventually(() => project.state().status === 'complete', 'the end of the run');
    expect(project.calls()[0]!.prompt.length).toBeGreaterThan(400_000);
  });
});

test('Ctrl-C ends "spool logs --raw" of an endless log', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool(...run);
  const log = project.stateFile(`runs/${project.state().run}/0001.log`);
  execFileSync('truncate', ['-s', '100G', log]);
  const command = 'exec "$0" "$1" logs "$2" --raw > /dev/null';
  const args = ['-c', command, process.execPath, spoolProgram, change];
  const logs = startProcess('/bin/sh', args, { cwd: project.folder, env: project.env });
  const bytesRead = () => Number(/^rchar: (\d+)/.exec(readFileSync(`/proc/${logs.pid}/io`, 'utf8'))?.[1]);
  await eventually(() => bytesRead() > 5_000_000, 'the log to be printed');

  logs.kill('SIGINT');

  expect(await endsSoon(logs.result.finally(() => logs.kill('SIGKILL')))).toMatchObject({ code: 130 });
});

describe('folders of a clone that are named like options, or over several lines', () => {
  const clone = () => {
    const project = createProject({ agent: [promise] });
    project.write('openspec/changes/a\n--all  9-9  done/proposal.md', '# Evil\n');
    for (const name of ['--allow-all', '--all', '-f']) {
      project.write(`.spool/changes/${name}/proposal.md`, '# Evil\n');
      mkdirSync(project.path(`.spool/.state/ralph/${name}`), { recursive: true });
    }
    return project;
  };

  test.each(['bash', 'zsh', 'fish'])('are not completed in %s', async (shell) => {
    expect(await clone().spool('__complete', shell, 'ralph', '')).toMatchObject({ stdout: `${change}\tchange\n` });
  });

  test.each([['list'], ['status'], ['ralph', '--all', '--no-interactive']])(
    'are not changes in spool %s',
    async (...args) => {
      const { stdout, stderr } = await clone().spool(...args);

      // They are only named as what is ignored.
      const others = `${stdout}${stderr}`
        .split('\n')
        .filter((line) => !/^(?:\.spool|openspec)\/changes\/.* is ignored: /.test(line));
      expect(others.join('\n')).not.toMatch(/--allow-all|--all|(?<!\S)-f/);
    },
  );
});

test.each([
  ['a link to itself', 'ln -s package.json package.json'],
  ['the memory of a process', 'ln -s /proc/self/mem package.json'],
  ['a FIFO', 'mkfifo package.json'],
  ['a device', 'ln -s /dev/zero package.json'],
  ['a huge file', 'truncate -s 100G package.json'],
  ['deep JSON', `{ yes '[' | head -n 400000; yes ']' | head -n 400000; } | tr -d '\\n' > package.json`],
])('"spool init" finds no tests in %s', async (_, plant) => {
  const project = createProject();
  execFileSync('sh', ['-ec', plant], { cwd: project.folder });

  expect(await endsSoon(project.spool('init', '--yes'))).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('no tests found') as string,
  });
});
