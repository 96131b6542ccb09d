import { connect, createServer } from 'node:net';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ApiError } from '../../src/web/api.ts';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject } from '../support/project.ts';
import { sendRaw, startWeb } from '../support/web.ts';

const action = { kind: 'add-context', change, text: 'from an attacker' };
const contextFile = `.spool/.state/ralph/${change}/context.txt`;

test('the token is exchanged for a cookie, once, and leaves the address bar', async () => {
  const web = await startWeb(createProject());

  expect(web.token.length).toBeGreaterThanOrEqual(43);
  expect(web.signIn).toMatchObject({ status: 303, headers: { location: '/' }, text: '' });
  expect(web.signIn.headers['set-cookie']![0]).toMatch(
    new RegExp(`^spool_web_${web.port}=[\\w.-]+; Path=/; Max-Age=\\d+; HttpOnly; SameSite=Strict$`),
  );
  expect(web.cookie).not.toContain(web.token);
  expect((await web.get('/')).status).toBe(200);
});

test('without the cookie nothing is answered', async () => {
  const project = createProject();
  const [web, other] = [await startWeb(project), await startWeb(createProject())];
  const wrong = [
    {},
    { cookie: '' },
    { cookie: other.cookie },
    // That of another server with the name of this one.
    { cookie: other.cookie.replace(String(other.port), String(web.port)) },
    { cookie: web.cookie.replace(/=\d+/, '=99999999999999') },
    { cookie: `${web.cookie.slice(0, -2)}xx` },
    { cookie: `spool_web_${web.port}=${web.token}` },
    { authorization: `Bearer ${web.token}` },
  ];
  const paths = ['/', '/api/overview', '/api/stream/overview', '/changes/x', '/app.js', '/nothing'];

  for (const headers of wrong)
    for (const path of paths) {
      const answer = await sendRaw(web.port, path, { headers });
      expect([answer.status, path, headers]).toEqual([401, path, headers]);
      expect(answer.text).toContain('spool web');
      expect(answer.text).not.toContain(project.folder);
    }
  const page = await sendRaw(web.port, '/');
  expect(page.text).toContain('Not signed in');
  expect(page.text).not.toMatch(/<script|<style|style=/);
  const post = { method: 'POST', headers: { 'content-type': 'application/json', 'x-spool': '1' } };
  expect((await sendRaw(web.port, '/api/actions', { ...post, body: JSON.stringify({ action }) })).status).toBe(401);
  expect(project.exists(contextFile)).toBe(false);
});

test('wrong and old tokens are rejected, and a page stays signed in when the server is started again', async () => {
  const project = createProject();
  const web = await startWeb(project);
  for (const token of ['', 'x', web.token.slice(1), `${web.token}x`, web.token.toUpperCase()])
    expect((await sendRaw(web.port, `/?token=${token}`)).status).toBe(401);
  await web.stop();
  const again = await startWeb(project, [], { port: web.port });

  expect(again.token).not.toBe(web.token);
  expect((await sendRaw(again.port, `/?token=${web.token}`)).status).toBe(401);
  expect((await sendRaw(again.port, '/api/overview', { headers: { cookie: web.cookie } })).status).toBe(200);
  const keys = join(project.home, '.local/state/spool/web');
  for (const name of readdirSync(keys)) expect(statSync(join(keys, name)).mode & 0o077).toBe(0);
});

test('only own host names are served: no DNS rebinding', async () => {
  const web = await startWeb(createProject());
  const { port, cookie } = web;
  const status = async (host: string, path = '/api/overview') =>
    (await sendRaw(port, path, { headers: { cookie, host } })).status;

  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`])
    expect([host, await status(host)]).toEqual([host, 200]);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    `localhost.evil.example:${port}`,
    `127.0.0.1.evil.example:${port}`,
    `127.0.0.1:${port}.evil.example`,
    `0.0.0.0:${port}`,
    `localhost:${port + 1}`,
    'localhost',
    '',
  ]) {
    expect([host, await status(host)]).toEqual([host, 421]);
    expect([host, await status(host, `/?token=${web.token}`)]).toEqual([host, 421]);
    expect([host, await status(host, '/api/stream/overview')]).toEqual([host, 421]);
  }
});

test('requests of other sites are refused, posts and streams included', async () => {
  const project = createProject();
  const web = await startWeb(project);
  const own = `http://127.0.0.1:${web.port}`;
  const foreign = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `http://127.0.0.1:${web.port + 1}` },
    { origin: `https://127.0.0.1:${web.port}` },
    // A page of another program on this machine.
    { origin: `http://localhost:${web.port}` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
  ];
  for (const headers of foreign) {
    expect([(await web.post('/api/actions', { action }, headers)).status, headers]).toEqual([403, headers]);
    expect([(await web.get('/api/stream/overview', headers)).status, headers]).toEqual([403, headers]);
    expect([(await web.get('/api/overview', headers)).status, headers]).toEqual([403, headers]);
  }
  expect(project.exists(contextFile)).toBe(false);
  // A link leads to the page, which the browser asks for without the cookie.
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  expect((await web.get('/', link)).status).toBe(200);
  expect((await web.get('/', { ...link, 'sec-fetch-dest': 'iframe' })).status).toBe(403);
  const same = { origin: own, 'sec-fetch-site': 'same-origin' };
  expect((await web.post('/api/actions', { action }, same)).json()).toMatchObject({ ok: true });
  expect(project.read(contextFile)).toContain('from an attacker');
});

test('a form or a link of another site cannot make a post', async () => {
  const project = createProject();
  const web = await startWeb(project);
  const body = JSON.stringify({ action });
  const send = (headers: Record<string, string>) =>
    sendRaw(web.port, '/api/actions', { method: 'POST', headers: { cookie: web.cookie, ...headers }, body });

  expect((await send({ 'content-type': 'application/json' })).status).toBe(400);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])
    expect([type, (await send({ 'content-type': type, 'x-spool': '1' })).status]).toEqual([type, 415]);
  expect((await web.get(`/api/actions?action=${encodeURIComponent(body)}`)).status).toBe(405);
  const preflight = await sendRaw(web.port, '/api/actions', {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
  });
  expect(preflight.status).toBe(405);
  expect(Object.keys(preflight.headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  expect(project.exists(contextFile)).toBe(false);
});

test('only the methods that are needed are answered', async () => {
  const web = await startWeb(createProject());
  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'])
    expect((await sendRaw(web.port, '/api/overview', { method, headers: { cookie: web.cookie } })).status).toBe(405);
  expect((await web.post('/api/overview', {})).status).toBe(405);
  const head = await sendRaw(web.port, '/api/overview', { method: 'HEAD', headers: { cookie: web.cookie } });
  expect(head).toMatchObject({ status: 200, text: '' });
});

test('every answer has the headers that contain it', async () => {
  const web = await startWeb(createProject());
  const answers = [
    await web.get('/'),
    await web.get('/api/overview'),
    await web.get('/nothing'),
    await sendRaw(web.port, '/'),
    await sendRaw(web.port, '/', { headers: { host: 'evil.example' } }),
    web.signIn,
  ];
  for (const { headers } of answers) {
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  }
});

test('no path and no id leads out of the project', async () => {
  const project = createProject({ agent: [promise] });
  await project.spool('ralph', '--change', change);
  const outside = join(project.home, 'outside');
  mkdirSync(join(outside, 'runs', '20261118-000000-aaaaaaaa'), { recursive: true });
  writeFileSync(join(outside, 'runs', '20261118-000000-aaaaaaaa', '0001.log'), 'a secret of the user');
  const planted = '20261118-000000-bbbbbbbb';
  symlinkSync(
    join(outside, 'runs', '20261118-000000-aaaaaaaa'),
    project.path(`.spool/.state/ralph/${change}/runs/${planted}`),
  );
  symlinkSync(outside, project.path('.spool/.state/ralph/planted'));
  symlinkSync('/etc/hostname', project.path(`.spool/.state/ralph/${change}/runs/${project.state().run}/0002.log`));
  const web = await startWeb(project);
  const latest = `/api/changes/${change}/runs/latest`;
  const paths = [
    '/../../../../etc/passwd',
    '/..%2f..%2f..%2fetc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/..%5c..%5cetc/passwd',
    '//etc/passwd',
    '/changes/../../../etc/passwd',
    '/index.html%00.js',
    '/.br',
    '/index.html.br',
    '/api/changes/..%2f..%2f..%2fetc/runs/latest',
    '/api/changes/%2e%2e/runs/latest',
    '/api/changes/planted/runs/20261118-000000-aaaaaaaa/iterations/1/log',
    `/api/changes/${change}/runs/..%2f..%2f..%2foutside`,
    `/api/changes/${change}/runs/..`,
    `/api/changes/${change}/runs/${planted}/iterations/1/log`,
    `${latest}/iterations/..%2f..%2fx/log`,
    `${latest}/iterations/0/log`,
    `${latest}/iterations/1.5/log`,
    `${latest}/iterations/99999999999/log`,
    `${latest}/iterations/2/log`,
    `${latest}/diff?from=--output=/tmp/x&to=1`,
    `${latest}/diff?from=HEAD&to=1`,
    `${latest}/diff/file?iteration=1&path=/etc/passwd`,
    `${latest}/diff/file?iteration=1&path=../../../etc/passwd`,
    `/api/changes/${encodeURIComponent('--help')}/runs/latest`,
    `/api/changes/${'x'.repeat(3000)}`,
    `/${'x'.repeat(5000)}`,
    '/api/changes/%E0%A4%A/runs/latest',
  ];

  for (const path of paths) {
    const { status, text } = await web.get(path);
    expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    expect(text).not.toMatch(/root:|a secret of the user/);
    expect(text).not.toContain(readFileSync('/etc/hostname', 'utf8').trim() || 'no host name');
  }
  expect(existsSync('/tmp/x')).toBe(false);
  const absolute = await sendRaw(web.port, `http://evil.example/api/overview`, { headers: { cookie: web.cookie } });
  expect(absolute.status).toBe(400);
});

test('large, slow and broken requests are dropped', async () => {
  const web = await startWeb(createProject());
  const large = { action: { ...action, text: 'x'.repeat(300_000) } };
  expect((await web.post('/api/actions', large)).status).toBe(413);
  const chunked = await sendRaw(web.port, '/api/actions', {
    method: 'POST',
    headers: { cookie: web.cookie, 'content-type': 'application/json', 'x-spool': '1', 'transfer-encoding': 'chunked' },
    body: JSON.stringify(large),
  });
  expect(chunked.status).toBe(413);
  expect((await web.get('/', { 'x-large': 'x'.repeat(20_000) })).status).toBe(431);
  for (const body of ['', '{', '[]', 'null', '{"action":null}', '[['.repeat(10_000)])
    expect(
      (
        await sendRaw(web.port, '/api/actions', {
          method: 'POST',
          headers: { cookie: web.cookie, 'content-type': 'application/json', 'x-spool': '1' },
          body,
        })
      ).status,
    ).toBe(400);

  // Requests of which a proxy and a server could disagree where they end, or for whom they are.
  const own = `Host: 127.0.0.1:${web.port}\r\nCookie: ${web.cookie}\r\nConnection: close\r\n`;
  for (const [status, text] of [
    ['400', `POST /api/actions HTTP/1.1\r\n${own}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['400', `POST /api/actions HTTP/1.1\r\n${own}Content-Length: 4\r\nContent-Length: 5\r\n\r\n12345`],
    ['400', `GET /api/overview HTTP/1.1\nHost: 127.0.0.1:${web.port}\n\n`],
    ['400', `GET http://127.0.0.1:${web.port}/api/overview HTTP/1.1\r\n${own}\r\n`],
    ['421', `GET /api/overview HTTP/1.1\r\n${own}Host: evil.example\r\n\r\n`],
    ['421', `GET /api/overview HTTP/1.0\r\n\r\n`],
    ['', `CONNECT 127.0.0.1:22 HTTP/1.1\r\n${own}\r\n`],
  ] as const)
    expect([text, await statusOf(web.port, text)]).toEqual([text, status]);

  const slow = connect(web.port, '127.0.0.1');
  slow.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
  slow.resume();
  await once(slow, 'close');
  expect((await web.get('/api/overview')).status).toBe(200);
}, 60_000);

/** Sends any bytes. Returns the status of the answer; empty if there is none. */
const statusOf = async (port: number, text: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => (answer += data.toString('latin1')));
  socket.write(text);
  await once(socket, 'close');
  return /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? '';
};

test('connections that say nothing do not keep users out', async () => {
  const web = await startWeb(createProject());
  const page = await web.stream('/api/stream/overview');
  await page.message('overview');
  let isOver = false;
  void page.ended.then(() => (isOver = true));
  const silent = Array.from({ length: 1200 }, () => connect(web.port, '127.0.0.1').on('error', () => {}));
  await Promise.all(silent.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));

  // Requests that do not come are given up later, after ten seconds.
  const isAnswered = () =>
    web.get('/api/overview').then(
      ({ status }) => status === 200,
      () => false,
    );
  await eventually(isAnswered, 'an answer', 8000);
  expect(isOver).toBe(false);
  for (const socket of silent) socket.destroy();
});

test('a read-only server changes nothing', async () => {
  const project = createProject({ agent: [promise] });
  const web = await startWeb(project, ['--read-only']);

  expect(await web.read('/api/overview')).toMatchObject({ readOnly: true });
  for (const path of ['/api/preview', '/api/actions']) {
    const answer = await web.post(path, { action });
    expect(answer.status).toBe(403);
    expect(answer.json<ApiError>().error.code).toBe('read-only');
  }
  expect(project.exists(contextFile)).toBe(false);
});

test('says what an address that others can reach means, unless TLS protects it', async () => {
  const project = createProject();
  const open = await startWeb(project, ['--host', '0.0.0.0']);
  expect(open.output()).toContain('Without TLS');
  // localhost has two addresses, and another program may listen on the other one.
  expect(open.url).toBe(`http://127.0.0.1:${open.port}`);
  const status = async (host: string) => (await sendRaw(open.port, '/', { headers: { host } })).status;
  for (const host of ['evil.example', '10.1.2.3.evil.example', '[evil]', '10.1.2', '10.1.2.3@evil.example'])
    expect([host, await status(`${host}:${open.port}`)]).toEqual([host, 421]);
  expect(await status('10.1.2.3:80')).toBe(421);
  for (const host of ['10.1.2.3', '[fd00::1]'])
    expect([host, await status(`${host}:${open.port}`)]).toEqual([host, 401]);
  const behind = await startWeb(project, ['--url', 'https://spool.example.com']);
  expect(behind.output()).not.toContain('Without TLS');
}, 60_000);

test('serves with TLS', async () => {
  const project = createProject();
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const files = ['-keyout', project.path('key.pem'), '-out', project.path('cert.pem')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...files, ...subject], {
    stdio: 'ignore',
  });
  const server = project.start(['web', '--port', '0', '--tls-cert', 'cert.pem', '--tls-key', 'key.pem']);
  await server.printed('/?token=');
  const url = /https:\S+/.exec(server.output())![0];
  const [response] = (await once(
    httpsRequest(url, { ca: readFileSync(project.path('cert.pem')) }).end(),
    'response',
  )) as [{ statusCode: number; headers: Record<string, string[]> }];

  expect(response.statusCode).toBe(303);
  expect(response.headers['set-cookie']![0]).toContain('; Secure');
  const broken = await project.spool('web', '--tls-cert', 'key.pem', '--tls-key', 'key.pem');
  expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining('are not a certificate and its key') });
  server.kill('SIGINT');
  expect((await server.result).code).toBe(0);
});

test('a proxy may serve the page under one more name, with cookies for TLS only', async () => {
  const web = await startWeb(createProject(), ['--url', 'https://spool.example.com']);
  expect(web.url).toBe('https://spool.example.com');
  expect(web.signIn.headers['set-cookie']![0]).toContain('; Secure');
  const behind = { host: 'spool.example.com' };
  expect((await web.get('/api/overview', behind)).status).toBe(200);
  expect((await web.get('/api/overview', { ...behind, origin: 'https://spool.example.com' })).status).toBe(200);
  expect((await web.get('/api/overview', { ...behind, origin: 'http://spool.example.com' })).status).toBe(403);
  expect((await web.get('/api/overview', { host: 'other.example.com' })).status).toBe(421);
});

test('a port in use is one clear line', async () => {
  const project = createProject();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };

  const { code, stderr } = await project.spool('web', '--port', String(port));

  expect(code).toBe(1);
  expect(stderr).toBe(`spool: 127.0.0.1:${port} is in use by another program. Pass another --port.\n`);
  taken.close();
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends the server, its streams, and frees the port', async (signal) => {
  const project = createProject();
  const web = await startWeb(project);
  const stream = await web.stream('/api/stream/overview');
  await stream.message('overview');

  web.kill(signal);

  expect(await web.result).toMatchObject({ code: 0 });
  await stream.ended;
  const again = await startWeb(project, [], { port: web.port });
  await eventually(async () => (await again.get('/api/overview')).status === 200, 'the port to be free');
});
