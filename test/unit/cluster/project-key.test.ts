import { expect, test } from 'vitest';
import { projectKey } from '../../../src/cluster/project-key.ts';

test.each([
  ['git@github.com:acme/app.git', 'github.com/acme/app'],
  ['github.com:acme/app', 'github.com/acme/app'],
  ['ssh://git@github.com/acme/app.git', 'github.com/acme/app'],
  ['ssh://git@GitHub.com:22/acme/app.git/', 'github.com/acme/app'],
  ['https://github.com/acme/app', 'github.com/acme/app'],
  ['https://user:secret@github.com:443/acme/app.git', 'github.com/acme/app'],
  ['  https://github.com/acme/app.git\n', 'github.com/acme/app'],
  ['https://git.example.com:8443/acme/my%20app.git', 'git.example.com:8443/acme/my app'],
  ['git://example.com:9418/app.git', 'example.com/app'],
  ['git@host:/srv/git/app.git', 'host/srv/git/app'],
  ['file:///srv/git/app.git', '/srv/git/app'],
  ['/srv/git/app.git/', '/srv/git/app'],
  ['../remote.git', '/home/ann/remote'],
  ['./nested/app', '/home/ann/project/nested/app'],
])('the key of %j is %j', (url, key) => {
  expect(projectKey(url, '/home/ann/project')).toBe(key);
});

test('a user and a password are in no key', () => {
  for (const url of ['https://user:secret@host/app', 'ssh://user:secret@host:2222/app', 'user@host:app'])
    expect(projectKey(url, '/')).not.toMatch(/user|secret/);
});
