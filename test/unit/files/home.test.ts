import { homedir, userInfo } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { homeOf } from '../../../src/files/home.ts';

test.skipIf(process.platform === 'win32')('the home folder is that of the environment, not that of the process', () => {
  const { HOME } = process.env;
  onTestFinished(() => void (HOME === undefined ? delete process.env.HOME : (process.env.HOME = HOME)));
  process.env.HOME = '/home/of-the-process';

  expect(homedir()).toBe('/home/of-the-process');
  expect(homeOf({ HOME: '/home/other' })).toBe('/home/other');
  for (const env of [{}, { HOME: '' }]) expect(homeOf(env)).toBe(userInfo().homedir);
});
