import { expect, test } from 'vitest';
import { isNamedLikeSecret } from '../../../src/git/secret-names.ts';

test.each([
  ['.env', ''],
  ['.env.production', ''],
  ['config/prod.env', ''],
  ['id_rsa', ''],
  ['keys/id_ed25519', ''],
  ['id_ed25519_work', ''],
  ['server.key', ''],
  ['tls/SERVER.KEY', ''],
  ['client.p12', ''],
  ['client.pfx', ''],
  ['release.jks', ''],
  ['putty.ppk', ''],
  ['.netrc', ''],
  ['_netrc', ''],
  ['home/.pgpass', ''],
  ['.git-credentials', ''],
  ['.htpasswd', ''],
  ['.aws/credentials', ''],
  ['.cargo/credentials.toml', ''],
  ['server.pem', '-----BEGIN PRIVATE KEY-----\nQUJD\n'],
  ['both.pem', '-----BEGIN CERTIFICATE-----\nQ\n-----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\n'],
  ['unknown.pem', 'QUJD'],
  ['.npmrc', '//registry.npmjs.org/:_authToken=0123456789'],
  ['.npmrc', '_password="c2VjcmV0"'],
  ['.yarnrc.yml', 'npmAuthToken: "abcdef"'],
  ['.pypirc', '[pypi]\nusername = me\npassword = secret\n'],
  ['.docker/config.json', '{ "auths": { "acme.io": { "auth": "dXNlcjpwdw==" } } }'],
  ['.dockercfg', '{ "acme.io": { "auth": "dXNlcjpwdw==" } }'],
  ['.config/gh/hosts.yml', 'github.com:\n  oauth_token: abc\n'],
  ['.kube/config', 'users:\n- user:\n    client-key-data: QUJD\n'],
])('%s is withheld (%j)', (path, text) => {
  expect(isNamedLikeSecret(path, () => text)).toBe(true);
});

test.each([
  ['.env.example', 'A=1'],
  ['.env.sample', ''],
  ['id_rsa.pub', 'ssh-rsa AAAA'],
  ['id_ed25519.pub', ''],
  ['src/environment.ts', ''],
  ['src/keyboard.ts', ''],
  ['monkey.md', ''],
  ['ca.pem', '-----BEGIN CERTIFICATE-----\nQ\n-----END CERTIFICATE-----\n'],
  ['jwt.pem', '-----BEGIN PUBLIC KEY-----\nQ\n-----END PUBLIC KEY-----\n'],
  ['.npmrc', 'registry=https://npm.acme.io\nsave-exact=true\n'],
  ['.npmrc', '//registry.npmjs.org/:_authToken=${NPM_TOKEN}'],
  ['.yarnrc.yml', 'npmAuthToken: "${NPM_TOKEN}"'],
  ['.pypirc', '[pypi]\nusername = me\npassword =\n'],
  ['.docker/config.json', '{ "credsStore": "desktop" }'],
  ['docs/credentials', ''],
])('%s is not withheld (%j)', (path, text) => {
  expect(isNamedLikeSecret(path, () => text)).toBe(false);
});
