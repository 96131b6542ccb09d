import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change } from '../support/project.ts';
import {
  createSandboxedProject,
  hasAllForSandbox,
  leavesDaemons,
  newMark,
  processesNamed,
  sandboxProblem,
  startBystander,
  startHost,
  type User,
  users,
} from '../support/sandbox.ts';

const problem = sandboxProblem();
const testUsers = problem === null ? users() : [];

test('the sandbox works on this machine, or the skipped tests are reported', () => {
  const isExpected =
    problem === null ||
    (!hasAllForSandbox() &&
      /^--sandbox: (?:not installed|.* is not installed|it does not start|there is none)/.test(problem));
  expect({ problem, isExpected }).toEqual({ problem, isExpected: true });
  const missing =
    problem ??
    (testUsers.length === 1 && process.getuid?.() === 0 ? 'an ordinary user cannot run the tests here' : null);
  if (missing !== null) process.stderr.write(`\nSKIPPED: attacks on the sandbox (${missing})\n`);
});

/** Every line is an attempt that must fail. Its output goes to a file in the project. */
const attack = (victims: ReturnType<typeof createSandboxedProject>['victims']) => `
who=$1
try() { sh -c "$1" >>"tried-$who.txt" 2>&1; }
try "echo $who >> '${victims.files.home}'"
try "echo $who >> '${victims.files.profile}'"
try "echo $who >> '${victims.files.project}'"
try "echo $who >> '${victims.files.temporary}'"
try "rm -f '${victims.files.home}' '${victims.files.project}'"
try "echo $who > '${victims.other}/planted-$who.txt'"
try "ln -s '${victims.other}' link-$who && echo $who > link-$who/through-link-$who.txt"
try "unshare -r sh -c \\"mount --bind / /mnt; echo $who > '${victims.other}/unshared-$who.txt'\\""
try "cat ~/.ssh/id_ed25519 ~/.aws/credentials ~/dotfiles/ssh/id_ed25519 ~/elsewhere/secring"
try "echo $who > .git/hooks/post-commit"
try "printf '[core]\\n\\tfsmonitor = touch /tmp/x\\n' >> .git/config"
try "git config core.fsmonitor 'touch x'"
try "mv .git git-$who"
try "rm -rf .git/hooks"
try "echo $who > .spool/.state/planted-$who"
try "mv .spool spool-$who"
try "echo '{}' > .spool/config.json"
try "echo $who > .git/refs/spool/planted-$who"
try "rm -f .git/spool.lock; cp .git/config .git/spool.lock; mv .git/config .git/spool.lock; echo changed >> .git/spool.lock && echo the lock was written"
exit 0
`;

describe.each(testUsers)('as $title', (user: User) => {
  test('no process inside writes outside, reads a key, or changes what git and Spool run', async () => {
    const project = createSandboxedProject(user, {
      files: { '.spool/config.json': '{ "maxStalled": 5 }\n', '.gitignore': 'tried-*\nlink-*\n' },
      agent: ['sh attack.sh agent; echo work > work.txt', promise],
    });
    project.writeScript('attack.sh', attack(project.victims));
    project.git('config', 'core.hooksPath', '.git/hooks');
    project.write('.git/hooks/pre-commit', '#!/bin/sh\nsh attack.sh hook\n');
    project.writeScript('.git/hooks/pre-commit', '#!/bin/sh\nsh attack.sh hook\n');
    const before = { config: project.read('.git/config'), hooks: readdirSync(project.path('.git/hooks')) };

    const args = ['ralph', 'Go.', '--change', change, '--sandbox', '--allow-all', '--verify', 'sh attack.sh verify'];
    const result = await project.start(args, { GNUPGHOME: join(project.home, 'elsewhere') }).result;

    expect(result).toMatchObject({ code: 0 });
    for (const who of ['agent', 'hook', 'verify']) {
      const said = project.read(`tried-${who}.txt`);
      expect(said).not.toContain('the lock was written');
      expect(said).toContain('Read-only file system');
      expect(said).not.toContain('PRIVATE-KEY');
    }
    expect(project.victims.changed()).toEqual([]);
    expect(project.victims.planted()).toEqual([]);
    expect(project.read('.git/config')).toBe(before.config);
    expect(readdirSync(project.path('.git/hooks'))).toEqual(before.hooks);
    expect(project.read('.spool/config.json')).toBe('{ "maxStalled": 5 }\n');
    expect(readdirSync(project.path('.spool/.state')).filter((name) => name.startsWith('planted'))).toEqual([]);
    expect(readdirSync(project.path('.git/refs/spool')).filter((name) => name.startsWith('planted'))).toEqual([]);
    expect(project.git('log', '-1', '--format=%s', '--', 'work.txt')).toBe('ralph(002-01): iteration 1');
    expect(project.state()).toMatchObject({ sandbox: true, status: 'complete' });
  });

  test('kernel settings are read-only', async () => {
    const files = '/proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger';
    const project = createSandboxedProject(user, {
      agent: [`for file in ${files}; do [ -w $file ] && echo "$file is writable"; done; ${promise}`],
    });

    const { code, stdout } = await project.spool('ralph', 'Go.', '--change', change, '--sandbox', '--allow-all');

    expect(code).toBe(0);
    expect(stdout).not.toContain('is writable');
  });

  test('shared memory of the machine is not accessible', async () => {
    const created = spawnSync('ipcmk', ['--shmem', '4096', '--mode', '0666'], { encoding: 'utf8' });
    const id = /\d+/.exec(created.stdout ?? '')?.[0];
    if (id === undefined) return void process.stderr.write('\nSKIPPED: shared memory (no ipcmk)\n');
    onTestFinished(() => void spawnSync('ipcrm', ['--shmem-id', id]));
    const project = createSandboxedProject(user, {
      agent: [`ipcs --shmems | grep -c '^0x'; ipcrm --shmem-id ${id}; ${promise}`],
    });

    const { code, stdout } = await project.spool('ralph', 'Go.', '--change', change, '--sandbox', '--allow-all');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^\W*0$/m);
    expect(spawnSync('ipcs', ['--shmems', '--id', id], { encoding: 'utf8' }).stdout).toContain(`shmid=${id}`);
  });

  test('only loopback and hosts that the user allows are reachable', async () => {
    const host = await startHost();
    const ask = (name: string, where: string) => `curl -sS -m 5 http://${where}:${host.port}/${name} >>asked.txt 2>&1`;
    const direct = (name: string) =>
      `curl -sS -m 5 --noproxy '*' http://127.0.0.1:${host.port}/${name} >>asked.txt 2>&1`;
    const project = createSandboxedProject(user, {
      agent: [
        `${ask('loopback', '127.0.0.1')}; ${ask('other', '127.0.0.2')}; ${direct('direct')}; ${ask('name', 'example.com')}; ${promise}`,
      ],
    });

    const run = ['ralph', 'Go.', '--change', change, '--sandbox', '--fresh'];
    const asks = `${ask('verify', '127.0.0.1')}; NO_PROXY= no_proxy= ${ask('by-proxy', '127.0.0.1')}; true`;
    const refused = await project.spool(...run, '--verify', asks);
    const reached = [...host.reached];
    const allowed = await project.spool(...run, '--sandbox-allow', '127.0.0.2');

    expect(refused.code).toBe(0);
    // Without the exception for loopback in NO_PROXY, a command uses the proxy, as documented.
    expect(reached).toEqual(['/loopback', '/by-proxy']);
    expect(allowed.code).toBe(0);
    expect(host.reached.slice(reached.length)).toEqual(['/loopback', '/other']);
  });

  test('provider hosts are reachable, other hosts and Unix sockets are not', async () => {
    // Stands for the internet: an upstream proxy for the proxy of the sandbox.
    const internet = await startHost();
    const project = createSandboxedProject(user, {
      agent: [
        `for host in api.anthropic.com example.com; do curl -sS -m 5 -i http://$host/ >$host.txt 2>&1; done; curl -sS -m 5 --unix-socket ../socket http://host/ >socket.txt 2>&1; ${promise}`,
      ],
    });
    const socket = await startHost(join(project.base, 'socket'));

    const env = { HTTP_PROXY: `http://127.0.0.1:${internet.port}` };
    const result = await project.start(['ralph', 'Go.', '--change', change, '--sandbox'], env).result;

    expect(result.code).toBe(0);
    expect(project.read('api.anthropic.com.txt')).toContain('hello');
    expect(internet.reached).toEqual(['http://api.anthropic.com/']);
    expect(project.read('example.com.txt')).toContain('blocked by network allowlist');
    expect(project.read('socket.txt')).toContain('Failed to connect');
    expect(socket.reached).toEqual([]);
  });

  test('processes left over from verify commands and hooks are terminated', async () => {
    const [byVerify, byHook] = [newMark(), newMark()];
    const project = createSandboxedProject(user, { agent: [`echo one > one.txt; ${promise}`] });
    project.writeScript('verify.sh', `${leavesDaemons(byVerify)} touch verified.txt`);
    project.writeScript('.git/hooks/pre-commit', `#!/bin/sh\n${leavesDaemons(byHook)} touch hooked.txt`);

    const result = await project.spool(...'ralph Go. --sandbox --verify'.split(' '), './verify.sh', '--change', change);

    expect(result.code).toBe(0);
    expect([project.exists('verified.txt'), project.exists('hooked.txt')]).toEqual([true, true]);
    expect([...processesNamed(byVerify), ...processesNamed(byHook)]).toEqual([]);
  });

  test('processes left over from an agent end before the next iteration, and processes outside are unaffected', async () => {
    const mark = newMark();
    const bystander = startBystander(user.prefix);
    const go = 'go.txt';
    const project = createSandboxedProject(user, {
      agent: [
        `${leavesDaemons(mark)} kill -9 ${bystander.pid}; kill -9 $PPID; echo one > one.txt`,
        `${waitsFor(go)}; ${promise}`,
      ],
    });

    const run = project.start(['ralph', 'Go.', '--change', change, '--sandbox', '--allow-all']);
    await run.printed(`waiting for ${go}`);
    const left = processesNamed(mark);
    project.write(go, '');

    expect(await run.result).toMatchObject({ code: 0 });
    expect(left).toEqual([]);
    expect(bystander.lives()).toBe(true);
    expect(project.history()).toMatchObject([{ git: { files: ['one.txt'] } }, { completionFound: true }]);
  });

  test('all processes inside and the sandbox end if Spool is killed', async () => {
    const mark = newMark();
    const project = createSandboxedProject(user, { agent: [`${leavesDaemons(mark)} ${waitsFor('never')}`] });

    const run = project.start(['ralph', 'Go.', '--change', change, '--sandbox', '--allow-all'], {
      TMPDIR: project.base,
    });
    await run.printed('waiting for never');
    await eventually(() => processesNamed(mark).length === 3, 'three daemons');
    run.kill('SIGKILL');
    await run.result;

    await eventually(() => processesNamed(mark).length === 0, 'the daemons to end');
    await eventually(() => processesWith(`HOME=${project.home}`).length === 0, 'the sandbox to end');
    expect(readdirSync(project.base).filter((name) => name.startsWith('spool-sandbox'))).toEqual([]);
  });

  test('all processes inside end if Spool and the keeper are killed at once, and the next start cleans up outside', async () => {
    const mark = newMark();
    const project = createSandboxedProject(user, {
      agent: [`${leavesDaemons(mark)} ${waitsFor('never')}`, promise],
    });

    const args = ['ralph', 'Go.', '--change', change, '--sandbox', '--allow-all'];
    const run = project.start(args, { TMPDIR: project.base });
    await run.printed('waiting for never');
    await eventually(() => processesNamed(mark).length === 3, 'three daemons');
    const worker = childrenOf(spoolIn(project.home)).find((pid) => nameOf(pid) === 'node')!;
    run.kill('SIGSTOP');
    process.kill(worker, 'SIGKILL');
    run.kill('SIGKILL');
    await run.result;

    await eventually(() => processesNamed(mark).length === 0, 'the daemons to end');
    expect(await project.spool('ralph', '--change', change)).toMatchObject({ code: 0 });
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test.each([
    ['bubblewrap', (home: string) => childrenOf(spoolIn(home)).find((pid) => nameOf(pid) === 'bwrap')],
    ['the keeper of the runtime', (home: string) => childrenOf(spoolIn(home)).find((pid) => nameOf(pid) === 'node')],
  ])('all processes inside end if %s is killed, and the next iteration works', async (_, find) => {
    const mark = newMark();
    const project = createSandboxedProject(user, {
      agent: [`${leavesDaemons(mark)} ${waitsFor('never')}`, `echo two > two.txt; ${promise}`],
    });

    const run = project.start([
      'ralph',
      'Go.',
      '--change',
      change,
      '--sandbox',
      '--allow-all',
      '--retry-delay',
      '10ms',
    ]);
    await run.printed('waiting for never');
    await eventually(() => processesNamed(mark).length === 3, 'three daemons');
    process.kill(find(project.home)!, 'SIGKILL');

    expect(await run.result).toMatchObject({ code: 0 });
    expect(processesNamed(mark)).toEqual([]);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
    expect(project.history()).toMatchObject([
      { end: 'killed' },
      { completionFound: true, git: { files: ['two.txt'] } },
    ]);
    expect(existsSync(project.path('two.txt'))).toBe(true);
  });
});

/** The Spool process with this HOME: the one whose parent has another HOME. */
const spoolIn = (home: string): number => {
  const all = new Set(processesWith(`HOME=${home}`));
  return [...all].find((pid) => nameOf(pid) === 'node' && !all.has(parentOf(pid)))!;
};

/** Empty for a process that has exited. */
const statOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return '';
  }
};
const nameOf = (pid: number) => /\((.*)\)/.exec(statOf(pid))?.[1] ?? '';
const parentOf = (pid: number) =>
  Number(
    statOf(pid)
      .replace(/^.*\) \S+ /, '')
      .split(' ')[0],
  );
const childrenOf = (pid: number) =>
  readFileSync(join('/proc', String(pid), 'task', String(pid), 'children'), 'latin1')
    .split(' ')
    .filter(Boolean)
    .map(Number);
