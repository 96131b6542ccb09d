import { describe, expect, test } from 'vitest';
import { harnesses } from '../../../src/harness/registry.ts';
import { hostsOf, isHost, type PolicyRequest, policyOf } from '../../../src/sandbox/policy.ts';

const opencode = harnesses.find(({ name }) => name === 'opencode')!;
const claude = harnesses.find(({ name }) => name === 'claude')!;

const request = {
  root: '/code/project',
  home: '/home/me',
  env: {},
  userEnv: {},
  tree: {
    root: '/code/project',
    gitDirs: ['/code/project/.git'],
    guarded: ['/code/project/.git/config', '/code/project/.git/hooks'],
  },
  agent: null,
  binary: '/usr/bin/agent',
  tmp: '/tmp/own',
  own: ['/tmp/own'],
  write: [],
  hidden: [],
  programs: ['/usr/lib/node_modules/sandbox'],
} satisfies PolicyRequest;

describe('the policy of a sandbox', () => {
  test('a command of the user can write to the work tree and a temporary folder', () => {
    expect(policyOf(request)).toMatchObject({
      writable: ['/code/project', '/code/project/.git', '/tmp/own'],
      foldersToCreate: [],
      variables: { TMPDIR: '/tmp/own', NO_PROXY: 'localhost,127.0.0.1,::1' },
    });
  });

  test('state, settings and the programs that git runs are protected', () => {
    expect(policyOf(request).guarded).toEqual(
      expect.arrayContaining([
        '/code/project/.spool/.state',
        '/code/project/.spool/config.json',
        '/code/project/.git/config',
        '/code/project/.git/hooks',
      ]),
    );
  });

  test('files outside writable folders need no protection', () => {
    const worktree = '/code/project/.spool/worktrees/x';
    const tree = { root: worktree, gitDirs: [], guarded: ['/code/project/.git/config', `${worktree}/.git`] };
    const { guarded } = policyOf({ ...request, tree });
    expect(guarded).toContain(`${worktree}/.git`);
    expect(guarded).not.toContain('/code/project/.git/config');
    expect(guarded).not.toContain('/code/project/.spool/.state');
  });

  test('Spool and the sandbox runtime are protected if an agent could write to them', () => {
    const folder = '/code/project/node_modules/sandbox';
    expect(policyOf({ ...request, programs: [folder] }).guarded).toContain(folder);
  });

  test('an agent can write to its own data, read its own credentials, and reach loopback', () => {
    const policy = policyOf({ ...request, agent: claude });
    expect(policy.writable).toEqual(expect.arrayContaining(['/home/me/.claude', '/home/me/.claude.json']));
    expect(policy.foldersToCreate).toEqual(['/home/me/.claude']);
    expect(policy.guarded).toContain('/home/me/.claude/settings.json');
    expect(policy.hidden).not.toContain('/home/me/.claude/.credentials.json');
    expect(policy.variables.NO_PROXY).toBe('');
  });

  test('credentials of other agents and keys are hidden', () => {
    const { hidden } = policyOf({ ...request, agent: opencode });
    expect(hidden).toEqual(
      expect.arrayContaining(['/home/me/.claude/.credentials.json', '/home/me/.ssh', '/home/me/.local/state/spool']),
    );
    expect(hidden).not.toContain('/home/me/.local/share/opencode/auth.json');
  });

  test('keys are hidden in locations set by variables', () => {
    const userEnv = {
      GNUPGHOME: '/keys/gnupg',
      KUBECONFIG: '/keys/one.yaml:/keys/two.yaml:relative.yaml',
      XDG_CONFIG_HOME: '/home/me/settings',
      GH_CONFIG_DIR: '/code',
      NETRC: '/home/me',
    };
    const { hidden } = policyOf({ ...request, userEnv });
    expect(hidden).toEqual(
      expect.arrayContaining(['/keys/gnupg', '/keys/one.yaml', '/keys/two.yaml', '/home/me/settings/gh']),
    );
    // The home folder, the work tree and its parents stay readable, whatever a variable says.
    for (const path of ['/code', '/home/me', 'relative.yaml']) expect(hidden).not.toContain(path);
  });

  test('paths that the user allows are neither hidden nor read-only', () => {
    const policy = policyOf({ ...request, write: ['/home/me/.docker'] });
    expect(policy.writable).toContain('/home/me/.docker');
    expect(policy.hidden).not.toContain('/home/me/.docker');
  });

  test.each([
    ['the home folder', '/home/me', ['/home/me/.ssh', '/home/me/.config/gh', '/home/me/.local/state/spool']],
    ['a folder in it', '/home/me/.config', ['/home/me/.config/gh']],
    ['a file in a hidden folder', '/home/me/.ssh/known_hosts', ['/home/me/.ssh']],
    ['the state of Spool', '/home/me/.local/state', ['/home/me/.local/state/spool']],
  ])('keys inside an allowed path stay hidden: %s', (_, path, hidden) => {
    expect(policyOf({ ...request, write: [path] }).hidden).toEqual(expect.arrayContaining(hidden));
  });

  test('every agent declares hosts and data', () => {
    for (const { name, sandbox } of harnesses) {
      expect([name, sandbox?.hosts.every(isHost)]).toEqual([name, true]);
      expect([name, sandbox?.data('/home/me', {}).length]).not.toEqual([name, 0]);
    }
  });
});

test('allowed hosts are those of all agents, loopback, and those of the user', () => {
  expect(hostsOf([claude], ['example.com', 'claude.ai'])).toEqual([
    ...claude.sandbox!.hosts,
    'localhost',
    '127.0.0.1',
    '[::1]',
    'example.com',
  ]);
});

test.each([
  ['example.com', true],
  ['*.example.com', true],
  ['example.com:8443', true],
  ['localhost:3000', true],
  ['127.0.0.1', true],
  ['[::1]:443', true],
  ['*', false],
  ['*.com', false],
  ['example', false],
  ['https://example.com', false],
  ['example.com/path', false],
  ['exa*mple.com', false],
  ['example.com:0', false],
  ['example.com:65535', true],
  ['example.com:65536', false],
  ['[::1]:99999', false],
  ['*.com:443', false],
  ['::1', false],
])('%s is a valid host: %s', (text, expected) => {
  expect(isHost(text)).toBe(expected);
});
