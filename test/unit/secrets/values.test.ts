import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../../src/secrets/redact.ts';

describe('variables with secret values', () => {
  test.each([
    ['AUTHORIZATION', 'Bearer abcdefgh12345678', 'abcdefgh12345678'],
    ['HTTP_AUTH', 'admin:correct-h0rse', 'admin:correct-h0rse'],
    ['AZURE_CONN', 'Endpoint=sb://x;SharedAccessKey=a1b2c3d4e5f6g7=', 'a1b2c3d4e5f6g7='],
    ['AZURE_STORAGE_CONNECTION_STRING', 'AccountName=x;AccountKey=abcdefgh1=', 'abcdefgh1='],
    ['PG_DSN', 'host=db port=5432 user=app password=hunter-two', 'hunter-two'],
    ['SENTRY_DSN', 'https://0123456789abcdef@o1.ingest.io/4', '0123456789abcdef'],
    ['LOGIN_COOKIE', 'sid=s3ss10n-of-mine; theme=dark', 's3ss10n-of-mine'],
    ['APP_SESSION', 'a1b2c3d4e5f6g7h8', 'a1b2c3d4e5f6g7h8'],
    ['DATABASE_URL', 'postgres://app:hunter-two@db/app', 'hunter-two'],
    ['DATABASE_URL', 'postgres://app:hunter-two@db/app', 'app:hunter-two'],
    ['REDIS_URI', 'redis://:p%40ss-w0rd@cache', 'p@ss-w0rd'],
    ['BACKEND', 'amqp://guest:s3cr3t-words@queue:5672', 's3cr3t-words'],
    ['MONGO_URL', 'mongodb://a:b1@localhost', 'mongodb://a:b1@'],
  ])('%s', (name, value, part) => {
    const cleaned = createRedactor({ [name]: value }).text(`It is ${part}.`);
    expect(cleaned).not.toContain(part);
    expect(cleaned).toContain('[redacted]');
    expect(createRedactor({ [name]: value }).text(value)).toContain('[redacted]');
  });
});

/** As login shells, desktops, terminals and CI set them. */
const login = {
  HOME: '/home/someone',
  PWD: '/home/someone/code',
  OLDPWD: '/home/someone',
  SHELL: '/bin/bash',
  USER: 'someone-long',
  SSH_AUTH_SOCK: '/run/user/1000/keyring/ssh',
  SSH_CONNECTION: '192.168.1.20 52444 192.168.1.5 22',
  SSH_CLIENT: '192.168.1.20 52444 22',
  DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/user/1000/bus',
  XDG_SESSION_ID: 'c2-session-1234',
  XDG_SESSION_TYPE: 'wayland',
  XDG_SESSION_DESKTOP: 'budgie-desktop-x11',
  XDG_SESSION_PATH: '/org/freedesktop/DisplayManager/Session0',
  DESKTOP_SESSION: 'plasma-wayland-6',
  GDMSESSION: 'ubuntu-xorg-2404',
  SESSION_MANAGER: 'local/host1:@/tmp/.ICE-unix/1234,unix/host1:/tmp/.ICE-unix/1234',
  GNOME_DESKTOP_SESSION_ID: 'this-is-deprecated',
  KONSOLE_DBUS_SESSION: '/Sessions/1',
  TERM_SESSION_ID: 'w0t0p0:1B9B2C3D-1111-2222-3333-444455556666',
  TMUX: '/tmp/tmux-1000/default,1234,0',
  SESSION: 'my-tmux-session',
  ZELLIJ_SESSION_NAME: 'clever-otter-12',
  XAUTHORITY: '/run/user/1000/gdm/Xauthority',
  AUTH_TYPE: 'oauth-personal-2',
  AUTH_MODE: 'service-account-1',
  COOKIE_DOMAIN: 'app.acme.io',
  DATABASE_URL: 'postgres://postgres:postgres@localhost:5432/app',
  NPM_CONFIG_REGISTRY_URL: 'https://registry.acme.io/',
  GIT_REMOTE_URL: 'ssh://git@github.com/acme/app.git',
  PASS: 'abc1234',
  GPG_KEY: 'E3FF2839C048B25C084DEBE9B26995E310250568',
};

test('no variable of a login shell, desktop or terminal makes output unreadable', () => {
  const { GPG_KEY: _, ...others } = login;
  const redactor = createRedactor(others);
  for (const [name, value] of Object.entries(others))
    if (name !== 'DATABASE_URL') expect(redactor.text(`${name}=${value}`)).toBe(`${name}=${value}`);
  expect(redactor.text('postgres listens on localhost')).toBe('postgres listens on localhost');
  expect(redactor.text(login.DATABASE_URL)).toBe('postgres://[redacted]@localhost:5432/app');
});

describe('a value that is also a file name', () => {
  // Vitest runs in the root of the repository.
  test.each(['package.json', 'vitest.config.ts', 'src/errors.ts'])('%s is a secret', (value) => {
    expect(createRedactor({ API_KEY: value }).text(`It is ${value}.`)).toBe('It is [redacted].');
  });

  test('an existing path is not a secret', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'spool-path-')), 'key.pem');
    writeFileSync(file, '');
    expect(createRedactor({ API_KEY: file }).text(`It is ${file}.`)).toBe(`It is ${file}.`);
    expect(createRedactor({ API_KEY: './package.json' }).text('./package.json')).toBe('./package.json');
  });
});
