import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { endsSoon } from '../support/hanging-git.ts';
import {
  createVictim,
  sampled,
  oneLine,
  plantedByAgent,
  plantedBetweenCalls,
  precious,
  checkPlantedByAgent,
  checkPlantedBetweenCalls,
} from '../support/planted-files.ts';
import { change, createProject, root } from '../support/project.ts';

const state = `.spool/.state/ralph/${change}`;
const run = ['ralph', 'Build it.', '--change', change];

test.each(sampled(plantedByAgent))(
  'an agent that replaces $target with $plant changes nothing outside',
  checkPlantedByAgent,
);

test.each(sampled(plantedBetweenCalls))('$plant in place of $target changes nothing outside', checkPlantedBetweenCalls);

test.each([
  ['the state folder of the change', state],
  ['the state folder of all changes', '.spool/.state/ralph'],
  ['the state folder', '.spool/.state'],
])('%s is rejected if it is a link from a clone', async (_, path) => {
  const project = createProject({ agent: [promise] });
  const elsewhere = join(project.home, 'elsewhere');
  mkdirSync(elsewhere);
  mkdirSync(dirname(project.path(path)), { recursive: true });
  symlinkSync(elsewhere, project.path(path));

  const calls = [
    run,
    ['ralph', '--status', '--change', change],
    ['ralph', '--add-context', 'More.', '--change', change],
    ['ralph', '--clear-context', '--change', change],
    ['archive', change, '--force'],
  ];
  for (const call of calls)
    expect(await project.spool(...call)).toMatchObject({ code: 2, stderr: oneLine('is a symbolic link') });
  await project.spool('prune', '--yes');
  expect(readdirSync(elsewhere)).toEqual([]);
  expect(project.calls()).toEqual([]);
});

test.each([
  ['the run', '"$d"/runs/*'],
  ['the change', '"$d"'],
  ['all changes', '.spool/.state/ralph'],
  ['the project', '.spool/.state'],
  ['Spool', '.spool'],
])('Spool writes nothing to the folder of %s if an agent moves it away and leaves a link to it', async (_, path) => {
  // Spool has the log and the journal open.
  const list = `find . -type f ! -name '*.log' ! -name events.jsonl -exec cksum {} + | sort`;
  const move = `d=$(echo .spool/.state/ralph/*); f=$(echo ${path}); mv "$f" "$HOME/moved"; ln -s "$HOME/moved" "$f"
    (cd "$HOME/moved" && ${list}) > "$HOME/before"`;
  const project = createProject({ git: false, agent: [`${move}; echo a > a.txt; ${promise}`] });

  const { code, stderr } = await project.spool(...run);

  const now = execFileSync('sh', ['-c', list], { cwd: join(project.home, 'moved'), encoding: 'utf8' });
  expect(code).toBe(2);
  expect(stderr).toContain('is a symbolic link, so Spool does not use it');
  expect(now).toBe(readFileSync(join(project.home, 'before'), 'utf8'));
});

test('prune deletes nothing behind a link and nothing but runs', async () => {
  const project = createProject();
  const docs = join(project.home, 'docs');
  for (const name of ['a', 'b', 'c', 'd', 'e']) mkdirSync(join(docs, name), { recursive: true });
  mkdirSync(project.path(state), { recursive: true });
  symlinkSync(docs, project.path(`${state}/runs`));

  expect(await project.spool('prune', '--yes', '--keep', '1')).toMatchObject({
    code: 2,
    stderr: oneLine('is a symbolic link'),
  });
  expect(readdirSync(docs)).toEqual(['a', 'b', 'c', 'd', 'e']);

  const other = createProject();
  for (const name of ['a', 'b', 'c', 'd', 'e']) other.write(`${state}/runs/${name}/kept.txt`, 'Kept.\n');
  expect(await other.spool('prune', '--yes', '--keep', '1')).toMatchObject({ code: 0 });
  expect(readdirSync(other.path(`${state}/runs`))).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('a link in place of context.txt is neither appended to nor emptied', async () => {
  const project = createProject();
  const victim = createVictim(project);
  mkdirSync(project.path(state), { recursive: true });
  symlinkSync(victim.file, project.stateFile('context.txt'));

  for (const action of [['--add-context', 'More.'], ['--clear-context']])
    expect(await project.spool('ralph', ...action, '--change', change)).toMatchObject({
      code: 2,
      stderr: oneLine('context.txt is a symbolic link'),
    });
  expect(victim.now()).toBe(precious);
});

test('a hard link in place of context.txt is neither appended to nor emptied', async () => {
  const project = createProject();
  const victim = createVictim(project);
  mkdirSync(project.path(state), { recursive: true });
  linkSync(victim.file, project.stateFile('context.txt'));

  for (const action of [['--add-context', 'More.'], ['--clear-context']])
    expect(await project.spool('ralph', ...action, '--change', change)).toMatchObject({
      code: 2,
      stderr: oneLine('a hard link'),
    });
  expect(victim.now()).toBe(precious);
});

test('a link in place of the worktrees folder is not used', async () => {
  const project = createProject({ agent: [promise] });
  const elsewhere = join(project.home, 'elsewhere');
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, project.path('.spool/worktrees'));

  expect(await project.spool(...run, '--worktree')).toMatchObject({ code: 2, stderr: oneLine('is a symbolic link') });
  expect(readdirSync(elsewhere)).toEqual([]);
});

test('a landing deletes nothing behind a link in place of the worktrees folder', async () => {
  const project = createProject({ agent: [`echo work > work.txt; ${promise}`] });
  await project.spool(...run, '--worktree');
  const victim = join(project.home, 'victim', `.land-${change}`);
  mkdirSync(victim, { recursive: true });
  writeFileSync(join(victim, 'precious.txt'), precious);
  renameSync(project.path('.spool/worktrees'), join(project.home, 'moved'));
  symlinkSync(join(project.home, 'victim'), project.path('.spool/worktrees'));

  expect(await project.spool('land', change, '--force')).toMatchObject({
    code: 2,
    stderr: oneLine('is a symbolic link'),
  });
  expect(readdirSync(victim)).toEqual(['precious.txt']);
});

test('.worktreeinclude copies nothing through a link in the worktree', async () => {
  const project = createProject({
    agent: [promise],
    files: { '.gitignore': 'out/file\n', '.worktreeinclude': 'out/file\n' },
  });
  const elsewhere = join(project.home, 'elsewhere');
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, project.path('out'));
  project.git('add', '--all');
  project.git('commit', '--quiet', '-m', 'a link');
  execFileSync('rm', [project.path('out')]);
  project.write('out/file', 'secret');

  const result = await project.spool(...run, '--worktree');

  expect(readdirSync(elsewhere)).toEqual([]);
  expect(result).toMatchObject({ code: 2, stderr: oneLine('is a symbolic link') });
});

test.each(['proposal.md', 'tasks.md'])('a run continues after an agent replaces %s with a FIFO', async (name) => {
  const file = `.spool/changes/${change}/${name}`;
  const project = createProject({
    files: { [`.spool/changes/${change}/tasks.md`]: '- [ ] 1.1 One\n' },
    agent: [`rm ${file}; mkfifo ${file}; ${says('Done?')}; ${promise}`],
  });

  const result = await project.spool(...run, '--max-iterations', '2');

  expect(result.code).not.toBe(0);
  expect(result.stderr).not.toContain('bug in Spool');
  expect(project.history().length).toBeGreaterThan(0);
  expect(project.history()[0]!.gate?.tampering.join()).toContain(name === 'tasks.md' ? 'the task' : name);
});

test.each([
  ['a link to a device', (path: string) => symlinkSync('/dev/zero', path)],
  ['a FIFO', (path: string) => execFileSync('mkfifo', [path])],
  ['a folder', (path: string) => mkdirSync(path)],
])('%s from a clone in place of a file that Spool reads is rejected', async (_, plant) => {
  const reads = [
    ['list'],
    ['show', change],
    ['ralph', '--status', '--change', change],
    ['ralph', 'Build it.', '--change', change, '--max-iterations', '1'],
    ['archive', change],
  ];
  const files = [
    `changes/${change}/proposal.md`,
    `changes/${change}/tasks.md`,
    'config.json',
    'modules/002_ralph/module.md',
  ];
  const readAll = async (file: string) => {
    const project = createProject({ agent: [promise], git: false });
    execFileSync('rm', ['-f', project.path(`.spool/${file}`)]);
    plant(project.path(`.spool/${file}`));
    for (const call of reads) {
      const { code, stderr } = await project.spool(...call);
      expect(stderr).not.toContain('bug in Spool');
      if (code !== 0 && code !== 3) expect(stderr).toEqual(oneLine(file.split('/').at(-1)!));
    }
  };
  await Promise.all(files.map(readAll));
});

test('a file that is too large for a text file is not read', async () => {
  const project = createProject();
  execFileSync('truncate', ['--size', '200M', project.path(`.spool/changes/${change}/tasks.md`)]);

  expect(await project.spool('show', change)).toMatchObject({ code: 2, stderr: oneLine('is larger than 16 MB') });
});

const journal = '"$(echo .spool/.state/ralph/*/runs/*)/events.jsonl"';
const blankLines = `head -c 20000000 /dev/zero | tr '\\0' '\\n'`;

test.each([
  ['a journal of 8 TB that has no lines', `rm ${journal}; truncate -s 8T ${journal}`],
  ['a history of 8 TB that has no lines', `truncate -s 8T ${state}/history.jsonl`],
  ['20 MB of blank lines in the history', `${blankLines} >> ${state}/history.jsonl`],
  ['a damaged state and a history of 8 TB', `truncate -s 8T ${state}/history.jsonl; echo x > ${state}/state.json`],
])('an agent that leaves %s delays neither the run nor queries', async (_, attack) => {
  const project = createProject({ agent: [`echo a > a.txt; ${attack}`, promise] });

  expect(await endsSoon(project.spool(...run))).toMatchObject({ code: 0 });
  const queries = [[...run.slice(0, 1), '--status', ...run.slice(2)], ['list'], ['show', change]];
  for (const args of queries) expect(await endsSoon(project.spool(...args))).toMatchObject({ code: 0 });
  expect(await endsSoon(project.spool(...run))).toMatchObject({ code: 0 });
});

test('a history that has too much besides records is reported, and its last records are used', async () => {
  const project = createProject({ agent: ['echo a > a.txt', 'kill -INT $PPID; sleep 5', promise] });
  await project.spool(...run);
  const [first, second] = readFileSync(project.stateFile('history.jsonl'), 'utf8').split('\n');
  writeFileSync(project.stateFile('history.jsonl'), `${first}\n${'\n'.repeat(1_000_000)}${second}\n`);
  const cut = `Only the end of ${state}/history.jsonl was read: the rest is damaged or too long.\n`;

  const status = await endsSoon(project.spool('ralph', '--status', '--change', change, '--json'));
  expect(status).toMatchObject({ code: 0, stderr: cut });
  expect(JSON.parse(status.stdout)).toMatchObject({ iterations: [{ iteration: 2 }] });

  const intact = readFileSync(project.stateFile('state.json'));
  writeFileSync(project.stateFile('state.json'), 'x');
  const rebuilt = `${state}/state.json is damaged; rebuilt from the history (1 iteration). ${cut}`;
  expect(await endsSoon(project.spool('list'))).toMatchObject({ code: 0, stderr: rebuilt });

  writeFileSync(project.stateFile('state.json'), intact);
  expect(await endsSoon(project.spool(...run))).toMatchObject({ code: 0, stderr: expect.stringContaining(cut) });
});

test('a config file that is too large is not read', async () => {
  const project = createProject({ agent: [promise] });
  for (const text of [`{ "model": "${'x'.repeat(1024 * 1024)}" }`, ' '.repeat(1024 * 1024 + 1)]) {
    project.write('.spool/config.json', text);
    for (const call of [run, ['ralph', '--status', '--change', change], ['harnesses']])
      expect(await project.spool(...call)).toMatchObject({
        code: 2,
        stderr: oneLine('config.json is larger than 1 MB'),
      });
  }
  expect(project.calls()).toEqual([]);
});

test('an error in a config file is printed in one line, however long it is', async () => {
  const project = createProject();
  const long = 'x'.repeat(500_000);
  for (const config of [{ [long]: 1 }, { model: [long] }, { changes: { [long]: 1 } }, { harnesses: { [long]: 1 } }]) {
    project.write('.spool/config.json', JSON.stringify(config));
    const { code, stderr } = await project.spool('ralph', '--status', '--change', change);
    expect({ code, length: Math.min(stderr.length, 1200) }).toEqual({ code: 2, length: stderr.length });
    expect(stderr).toMatch(/^spool: \.spool\/config\.json: [^\n]+…\n$/);
  }
});

/** Deep enough to overflow the stack of a recursive function. */
const deep = {
  lists: `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  objects: `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
};

test.each(Object.entries(deep))('a config file with deeply nested %s is rejected in one line', async (_, value) => {
  const project = createProject({ agent: [promise] });
  const places = [
    value,
    `{"model":${value}}`,
    `{"changes":${value}}`,
    `{"harnesses":{"mine":${value}}}`,
    `{"verify":${value}}`,
  ];
  for (const text of places) {
    project.write('.spool/config.json', text);
    const calls = [run, ['ralph', '--status', '--change', change], ['trust', '--show']];
    for (const result of await Promise.all(calls.map((call) => project.spool(...call))))
      expect(result).toMatchObject({
        code: 2,
        stderr: oneLine('config.json: not valid JSON \\(nested more than 200 levels deep\\)'),
      });
  }
  expect(project.calls()).toEqual([]);
});

test.each(Object.entries(deep))('state files with deeply nested %s count as damaged', async (_, value) => {
  const places: ((view: string) => string)[] = [
    () => value,
    (view) => view.replace(/}$/, `,"deep":${value}}`),
    (view) => view.replace('"limits":', `"limits":${value},"was":`),
  ];
  const continues = async (inView: (view: string) => string) => {
    const project = createProject({ agent: [promise] });
    await project.spool(...run);
    const lines = [JSON.stringify(project.history()[0]), value, `{"v":1,"usage":${value}}`, ''];
    writeFileSync(project.stateFile('state.json'), inView(JSON.stringify(project.state())));
    writeFileSync(project.stateFile('history.jsonl'), lines.join('\n'));
    writeFileSync(project.stateFile('lock'), value);

    const status = await project.spool('ralph', '--status', '--json', '--change', change);
    expect(status).toMatchObject({ code: 0 });
    expect(JSON.parse(status.stdout)).toMatchObject({ iterations: [{ iteration: 1 }] });
    expect(await project.spool('list')).toMatchObject({ code: 0 });
    expect(await project.spool(...run)).toMatchObject({ code: 0 });
  };
  await Promise.all(places.map(continues));
});

test.each(Object.entries(deep))('agent events with deeply nested %s are plain output', async (_, value) => {
  const events: Record<string, string> = {
    opencode: `{"type":"text","part":{"text":${value}}}`,
    claude: `{"type":"assistant","message":{"content":[{"type":"image","source":${value}}]}}`,
    codex: `{"type":"item.completed","item":{"type":"agent_message","text":${value}}}`,
  };
  const isDecoded = async ([harness, event]: [string, string]) => {
    const project = createProject();
    writeFileSync(join(project.home, 'event'), `${event}\n`);
    project.write(`../bin/${harness}`, `#!/bin/sh\ncat > /dev/null\ncat "$HOME/event"\n${promise}\n`);
    chmodSync(project.path(`../bin/${harness}`), 0o755);
    const env = { PATH: `${project.path('../bin')}:${project.env.PATH}` };
    const result = await project.start([...run, '--harness', harness, '--max-iterations', '1'], { env }).result;
    expect(result.stderr).not.toContain('bug in Spool');
    expect(result).toMatchObject({ code: 0 });
  };
  await Promise.all(Object.entries(events).map(isDecoded));
});

test('an agent that reports hundreds of thousands of models is decoded to its end', async () => {
  const usage = Array.from({ length: 300_000 }, (_, index) => `"m${index}":{"inputTokens":1}`).join();
  const words = JSON.stringify('Done.\n\n<promise>COMPLETE</promise>');
  const project = createProject();
  writeFileSync(
    join(project.home, 'events'),
    `{"type":"assistant","message":{"content":[{"type":"text","text":${words}}]}}\n{"type":"result","subtype":"success","modelUsage":{${usage}}}\n`,
  );
  project.write('../bin/claude', '#!/bin/sh\ncat > /dev/null\ncat "$HOME/events"\n');
  chmodSync(project.path('../bin/claude'), 0o755);
  const env = { PATH: `${project.path('../bin')}:${project.env.PATH}` };

  expect(await project.start([...run, '--harness', 'claude'], { env }).result).toMatchObject({ code: 0 });
  expect(project.history()[0]!.usage).toMatchObject({ inputTokens: 300_000 });
});

test('a file in the cache folder does not affect the permission flags of an agent', async () => {
  const project = createProject({ agent: [promise] });
  const cache = join(project.home, '.cache', 'spool');
  mkdirSync(cache, { recursive: true });
  const agent = join(root, 'test/fixtures/bin/opencode');
  const poison = JSON.stringify({ [`${agent} ${statSync(agent).mtimeMs}`]: '1.0.0' });
  writeFileSync(join(cache, 'versions.json'), poison);

  expect(await project.spool(...run, '--allow-all')).toMatchObject({ code: 0 });

  expect(project.calls()[0]!.args.at(-1)).toBe('--auto');
  expect(readFileSync(join(cache, 'versions.json'), 'utf8')).toBe(poison);
});

test('state files with looser permissions are restricted to their owner', async () => {
  const project = createProject({ agent: [promise] });
  mkdirSync(project.path(state), { recursive: true });
  for (const folder of ['.spool/.state', '.spool/.state/ralph', state]) chmodSync(project.path(folder), 0o755);

  expect(await project.spool(...run)).toMatchObject({ code: 0 });

  for (const folder of ['.spool/.state', '.spool/.state/ralph', state])
    expect(statSync(project.path(folder)).mode & 0o777).toBe(0o700);
  for (const file of ['state.json', 'history.jsonl'])
    expect(statSync(project.stateFile(file)).mode & 0o777).toBe(0o600);
});

test('a run with an id that leads out of the project is not resumed', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool(...run);
  const saved = { ...project.state(), status: 'running', run: '../../../../../../escaped' };
  writeFileSync(project.stateFile('state.json'), JSON.stringify(saved));

  await project.spool('ralph', '--change', change);

  expect(readdirSync(dirname(project.folder))).toEqual(['home', 'project']);
});

test('a project of another user is rejected, and init does not take it over', async () => {
  const project = createProject({ agent: [promise] });
  if (process.getuid!() !== 0) {
    process.stderr.write('\nSKIPPED: the project of another user (only root can change the owner)\n');
    return;
  }
  const uid = 65_534;
  execFileSync('chown', ['-R', String(uid), project.path('.spool')]);
  mkdirSync(project.path('below'));

  for (const call of [
    run,
    ['list'],
    ['show', change],
    ['ralph', '--status', '--change', change],
    ['prune', '--yes'],
    ['harnesses'],
    ['doctor'],
  ])
    expect(await project.spool(...call)).toMatchObject({ code: 2, stderr: oneLine('belongs to another user') });
  expect(project.calls()).toEqual([]);
  const env = { SPOOL_OWNER: String(uid) };
  expect(await project.start(['list'], { env }).result).toMatchObject({ code: 0 });

  expect(await project.start(['init'], { cwd: 'below' }).result).toMatchObject({ code: 0 });
  expect(existsSync(project.path('below/.spool/config.json'))).toBe(true);
});
