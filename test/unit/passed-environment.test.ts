import { expect, test } from 'vitest';
import { filterEnvironment } from '../../src/process/passed-environment.ts';

const env = { PATH: '/bin', HOME: '/', LC_ALL: 'C', CI: '1', AWS_REGION: 'x', AWS: 'y', https_proxy: 'z', Path: 'w' };
const names = (lists: readonly (readonly string[])[], platform: NodeJS.Platform = 'linux') =>
  Object.keys(filterEnvironment(lists, env, platform));

test('all of it is passed on without a list', () => {
  expect(filterEnvironment([], env)).toBe(env);
});

test('a few variables always are, and those of the list', () => {
  expect(names([[]])).toEqual(['PATH', 'HOME', 'LC_ALL', 'https_proxy']);
  expect(names([['CI', 'AWS_*']])).toEqual(['PATH', 'HOME', 'LC_ALL', 'CI', 'AWS_REGION', 'https_proxy']);
  expect(names([['ci', 'aws*']])).toEqual(['PATH', 'HOME', 'LC_ALL', 'https_proxy']);
});

test('capitals do not matter on Windows', () => {
  expect(names([['ci', 'aws*']], 'win32')).toEqual(Object.keys(env));
});

test('a variable must be in all lists', () => {
  expect(names([['CI', 'AWS*'], ['AWS']])).toEqual(['PATH', 'HOME', 'LC_ALL', 'AWS', 'https_proxy']);
});

test("of Spool's own variables, those with commands and hashes of the user's are not passed on", () => {
  const own = { SPOOL_ITERATION: 'a/1', SPOOL_OWNER: '0', SPOOL_NOTIFY: 'curl', SPOOL_VERIFY: 'x', SPOOL_TRUST: '1' };

  expect(Object.keys(filterEnvironment([[]], own))).toEqual(['SPOOL_ITERATION', 'SPOOL_OWNER']);
  expect(filterEnvironment([['SPOOL_*']], own)).toEqual(own);
});
