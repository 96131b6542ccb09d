import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { closedPort, startReceiver, status } from '../support/receiver.ts';
import { openTerminal } from '../support/terminal.ts';

const run = ['ralph', '--change', change, '--retry-delay', '5ms'];

/** Promises twice; the gate accepts the second one. */
const rejectedOnce = [`echo half > work.txt; ${promise}`, `echo done > work.txt; ${promise}`];
const verify = ['--verify', 'grep -q done work.txt'];

/** Everything that a project and the user's state folder have in files, as one text. */
const allFiles = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');

const notifyLog = (project: TestProject): string =>
  readFileSync(project.stateFile(`runs/${project.state().run}/notify.log`), 'utf8');

test('a URL gets JSON for each event, again if the server is busy, and neither secrets nor the address leak', async () => {
  const { host, received } = await startReceiver((response, number) => status(number < 3 ? 503 : 200)(response));
  const project = createProject({
    agent: [
      `env > "$HOME/agent.env"; echo half > work.txt; ${promise}`,
      `printf '%s\\n' "<promise>BLOCKED</promise>" "I need $MY_API_KEY, and http://${host}/hooks/t0ken-of-mine."`,
    ],
  });

  const result = await project.start([...run, ...verify], {
    env: { SPOOL_NOTIFY: `http://user:pass%40word@${host}/hooks/t0ken-of-mine`, MY_API_KEY: 'sk-verysecret-123456' },
  }).result;

  expect(result.code).toBe(4);
  // Two requests failed and were repeated, in any order.
  expect(received).toHaveLength(4);
  const toldOf = (event: string) => received.find(({ body }) => body.event === event)!;
  expect(toldOf('rejected')).toMatchObject({
    path: '/hooks/t0ken-of-mine',
    body: { v: 1, change, status: 'running', iteration: 1 },
  });
  const blocked = toldOf('blocked').body;
  expect(blocked).toMatchObject({ status: 'blocked', cause: 'blocked-promise', title: `${change}: blocked` });
  expect(received[0]!.headers).toMatchObject({
    'content-type': 'application/json',
    authorization: `Basic ${Buffer.from('user:pass@word').toString('base64')}`,
  });
  expect(blocked.detail).toBe(`the agent gave up: I need [redacted], and http://${host}/[redacted].`);
  expect(
    notifyLog(project)
      .trimEnd()
      .split('\n')
      .toSorted((x, y) => x.slice(25).localeCompare(y.slice(25))),
  ).toEqual([
    expect.stringMatching(/^\S+Z blocked to http:\/\/127\.0\.0\.1:\d+\/…: sent$/),
    expect.stringMatching(/^\S+Z rejected to http:\/\/127\.0\.0\.1:\d+\/…: sent$/),
  ]);
  expect(result.stderr).toMatch(/^ {2}Notify +http:\/\/127\.0\.0\.1:\d+\/… \(SPOOL_NOTIFY\)$/m);
  const written = allFiles(join(project.folder, '.spool')) + allFiles(join(project.home, '.local'));
  const told = readFileSync(join(project.home, 'agent.env'), 'utf8');
  expect(`${result.stdout}${result.stderr}${written}`).not.toMatch(/t0ken-of-mine|pass%40word|verysecret/);
  expect(told).not.toMatch(/t0ken-of-mine|pass%40word/);
});

test('ntfy and Slack get their own formats, and --notify-on selects events', async () => {
  const { host, received } = await startReceiver();
  const project = createProject({ agent: rejectedOnce });

  const targets = ['--notify', `ntfy:http://${host}/base/my-topic`, '--notify', `slack:http://${host}/services/T/B/x`];
  const result = await project.spool(...run, ...verify, ...targets, '--notify-on', 'complete,failed');

  expect(result.code).toBe(0);
  const [ntfy, slack] = received.toSorted((a, b) => a.path.length - b.path.length);
  expect(ntfy).toMatchObject({
    path: '/base/',
    body: {
      topic: 'my-topic',
      title: `${change}: complete`,
      message: expect.stringMatching(/done and verified in iteration 2\n2 iterations in /),
      tags: ['white_check_mark'],
    },
  });
  expect(slack).toMatchObject({
    path: '/services/T/B/x',
    body: { text: expect.stringContaining(`*${change}: complete*\n`) },
  });
  expect(received).toHaveLength(2);
});

test('a target that fails is reported in one line, and the run continues', async () => {
  const { host, received } = await startReceiver(status(404));
  const project = createProject({ agent: rejectedOnce });

  const result = await project.spool(
    ...run,
    ...verify,
    '--notify',
    `http://127.0.0.1:${await closedPort()}/a`,
    '--notify',
    `http://${host}/k3y`,
  );

  expect(result.code).toBe(0);
  expect(received).toHaveLength(2);
  expect(result.stderr.match(/^spool: notify .*$/gm)!.toSorted()).toEqual([
    expect.stringMatching(/^spool: notify http:\/\/127\.0\.0\.1:\d+\/… failed: (?:HTTP 404|ECONNREFUSED)$/),
    expect.stringMatching(/^spool: notify http:\/\/127\.0\.0\.1:\d+\/… failed: (?:HTTP 404|ECONNREFUSED)$/),
  ]);
});

test('a server that hangs delays neither the loop nor, after two interrupts, its end', async () => {
  const { host, received } = await startReceiver(() => {});
  const project = createProject({ agent: rejectedOnce });

  const loop = project.start([...run, ...verify, '--notify', `http://${host}/`]);
  await eventually(() => received.some(({ body }) => body.event === 'complete'), 'the end to be sent');
  expect(project.state()).toMatchObject({ status: 'complete', finishedIterations: 2 });
  loop.kill('SIGINT');
  await loop.printed('again');
  loop.kill('SIGINT');

  expect(await loop.result).toMatchObject({ code: 0, stderr: expect.stringContaining('/… failed: no answer in time') });
});

test('a long wait for a usage limit is told once', async () => {
  const { host, received } = await startReceiver();
  const data = { message: 'slow down', statusCode: 429, responseHeaders: { 'retry-after': '3600' } };
  const limit = JSON.stringify({ type: 'error', error: { name: 'APIError', data } });
  const project = createProject({ agent: [`${says(limit)}; exit 1`] });

  const loop = project.start([...run, '--notify', `http://${host}/`]);
  await eventually(() => received.length > 0, 'the wait to be told');
  loop.kill('SIGINT');
  await loop.result;

  expect(received.map(({ body }) => body)).toMatchObject([
    {
      event: 'waiting',
      detail: expect.stringMatching(/^usage limit of opencode: slow down \(HTTP 429\); resuming at \d\d:\d\d$/),
    },
    { event: 'interrupted', status: 'interrupted' },
  ]);
});

test('commands run for each event, side by side, and the log has the output of all of them', async () => {
  const project = createProject({ agent: rejectedOnce });

  const tell =
    'echo "$SPOOL_EVENT $SPOOL_STATUS $SPOOL_TITLE" >> "$HOME/told"; echo "said $SPOOL_EVENT"; echo $$ > "$HOME/pid-$SPOOL_EVENT"';
  // Outlives the other command by a moment.
  const slow = [
    'pid="$HOME/pid-$SPOOL_EVENT"',
    'until [ -s "$pid" ]; do sleep 0.02; done',
    'while kill -0 "$(cat "$pid")" 2> /dev/null; do sleep 0.02; done',
    'sleep 0.2; echo "slow $SPOOL_EVENT" | tee -a "$HOME/slow"',
  ].join('; ');
  const killed = 'echo last words; kill -9 $$';
  const targets = [slow, tell, killed].flatMap((command) => ['--notify', command]);
  const result = await project.spool(...run, ...verify, ...targets);

  expect(result.code).toBe(0);
  expect(linesOf(readFileSync(join(project.home, 'told'), 'utf8'))).toEqual([
    `complete complete ${change}: complete`,
    `rejected running ${change}: completion promise rejected`,
  ]);
  expect(linesOf(readFileSync(join(project.home, 'slow'), 'utf8'))).toEqual(['slow complete', 'slow rejected']);
  const log = notifyLog(project);
  for (const event of ['complete', 'rejected']) {
    expect(log).toMatch(new RegExp(`^\\S+Z ${event} to pid=.*: done\n  slow ${event}$`, 'm'));
    expect(log).toMatch(new RegExp(`^\\S+Z ${event} to echo .*: done\n  said ${event}$`, 'm'));
    expect(log).toMatch(new RegExp(`^\\S+Z ${event} to echo .*: ended by SIGKILL\n  last words$`, 'm'));
  }
  expect(result.stderr.match(/^spool: .*--notify command failed.*$/gm)).toEqual([
    expect.stringContaining('failed (ended by SIGKILL); see '),
  ]);
});

const linesOf = (text: string): string[] => text.trimEnd().split('\n').toSorted();

const withNotifySend = (project: TestProject, script: string) => {
  const bin = join(project.home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'notify-send'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, 'notify-send'), 0o755);
  return { env: { PATH: `${bin}:${project.env.PATH}` } };
};

test.runIf(process.platform === 'linux')('desktop runs notify-send, and reports once if it is missing', async () => {
  const project = createProject({ agent: rejectedOnce });
  const path = withNotifySend(project, 'printf "%s|" "$@" >> "$HOME/shown"');

  expect(await project.start([...run, ...verify, '--notify', 'desktop'], path).result).toMatchObject({ code: 0 });
  expect(readFileSync(join(project.home, 'shown'), 'utf8')).toContain(`--app-name=Spool|--|${change}: complete|`);

  const node = join(project.home, 'node');
  mkdirSync(node);
  const without = createProject({ agent: rejectedOnce });
  const bare = without.env.PATH.split(':').filter((folder) => !existsSync(join(folder, 'notify-send')));
  const result = await without.start([...run, ...verify, '--notify', 'desktop'], { env: { PATH: bare.join(':') } })
    .result;
  expect(result.code).toBe(0);
  expect(result.stderr.match(/^spool: notify.*$/gm)).toEqual([
    'spool: notify desktop failed: notify-send is not installed',
  ]);
});

test.runIf(process.platform === 'linux')('desktop does not run a notify-send of the project', async () => {
  const project = createProject({
    agent: [`printf '#!/bin/sh\\ntouch "$HOME/pwned"' > notify-send; chmod +x notify-send; ${promise}`],
  });

  const result = await project.start([...run, '--notify', 'desktop'], {
    env: { PATH: `${project.folder}:${project.env.PATH}` },
  }).result;

  expect(result.code).toBe(0);
  expect(existsSync(join(project.home, 'pwned'))).toBe(false);
});

test('bell rings for an event during the run too', async () => {
  const bells = async (...flags: string[]) => {
    const terminal = openTerminal(createProject({ agent: rejectedOnce }), [...run, ...verify, ...flags]);
    expect(await terminal.exitCode).toBe(0);
    return terminal.raw().split('\u0007').length - 1;
  };
  expect(await bells('--notify', 'bell')).toBe((await bells()) + 2);
});

test('an address in config.json needs trust, and an invalid one is an error that does not show it', async () => {
  const { host, received } = await startReceiver();
  const config = (notify: unknown) => ({ '.spool/config.json': JSON.stringify({ notify }) });
  const project = createProject({ agent: [promise], untrusted: true, files: config([`http://${host}/hook`, 'bell']) });

  const refused = await project.spool(...run);
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`config.json notify  http://${host}/hook`),
  });
  expect(received).toEqual([]);
  project.trust();
  expect((await project.spool(...run)).code).toBe(0);
  expect(received).toMatchObject([{ body: { event: 'complete' } }]);

  const wrong = createProject({ agent: [promise], files: config('slack:https://exa mple.com/s3cret') });
  const expected = 'must be a command, desktop, bell, an http or https address, ntfy:<topic> or slack:<address>';
  expect(await wrong.spool(...run)).toMatchObject({
    code: 2,
    stderr: `spool: .spool/config.json: "notify" ${expected}, not "slack:https://exa mple.com/…"\n`,
  });
  expect(await wrong.spool(...run, '--notify', 'ftp://example.com/s3cret')).toMatchObject({
    code: 2,
    stderr: `spool: --notify ${expected} (got "ftp://example.com/…").\n`,
  });
  expect(await wrong.spool(...run, '--notify-on', 'done')).toMatchObject({ code: 2 });
});
