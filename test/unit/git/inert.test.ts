import { expect, test } from 'vitest';
import { inert, withoutForeign } from '../../../src/git/call/inert.ts';

test.each([
  ['diff', ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty']],
  ['status', ['--ignore-submodules=dirty']],
  ['log', ['--no-show-signature']],
] as const)('git %s gets its flags before its arguments', (command, flags) => {
  const args = inert([command, 'HEAD'], { hooks: false });

  expect(args.slice(args.indexOf(command))).toEqual(expect.arrayContaining([...flags]));
  expect(args.at(-1)).toBe('HEAD');
});

test('hooks are off unless requested, and other programs are always off', () => {
  const settings = (hooks: boolean) => inert(['commit'], { hooks, config: ['a.b=c'] });

  expect(settings(true)).not.toContain('core.hooksPath=/dev/null');
  expect(settings(false)).toContain('core.hooksPath=/dev/null');
  for (const args of [settings(true), settings(false)])
    expect(args).toEqual(expect.arrayContaining(['core.fsmonitor=false', 'safe.bareRepository=explicit', 'a.b=c']));
});

test('variables for another repository are removed, other variables of the user are kept', () => {
  const own = { GIT_CONFIG_COUNT: '0', GIT_AUTHOR_NAME: 'A', PATH: '/bin' };

  expect(withoutForeign({ ...own, GIT_DIR: '/x', GIT_EXTERNAL_DIFF: 'x' })).toMatchObject(own);
  expect(Object.keys(withoutForeign({ GIT_DIR: '/x' }))).toEqual(['GIT_NO_REPLACE_OBJECTS', 'GIT_GRAFT_FILE']);
});
