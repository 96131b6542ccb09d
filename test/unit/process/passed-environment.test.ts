import { expect, test } from 'vitest';
import { filterEnvironment } from '../../../src/process/passed-environment.ts';

const env = { PATH: '/bin', HOME: '/', LC_ALL: 'C', CI: '1', AWS_REGION: 'x', AWS: 'y', https_proxy: 'z', Path: 'w' };
const names = (lists: readonly (readonly string[])[], platform: NodeJS.Platform = 'linux') =>
  Object.keys(filterEnvironment(lists, env, platform));

test('without a list, all variables are passed on', () => {
  expect(filterEnvironment([], env)).toBe(env);
});

test('a few variables are always passed on, and those in the list', () => {
  expect(names([[]])).toEqual(['PATH', 'HOME', 'LC_ALL', 'https_proxy']);
  expect(names([['CI', 'AWS_*']])).toEqual(['PATH', 'HOME', 'LC_ALL', 'CI', 'AWS_REGION', 'https_proxy']);
  expect(names([['ci', 'aws*']])).toEqual(['PATH', 'HOME', 'LC_ALL', 'https_proxy']);
});

test('case does not matter on Windows', () => {
  expect(names([['ci', 'aws*']], 'win32')).toEqual(Object.keys(env));
});

test('a variable must be in all lists', () => {
  expect(names([['CI', 'AWS*'], ['AWS']])).toEqual(['PATH', 'HOME', 'LC_ALL', 'AWS', 'https_proxy']);
});

test('variables of Spool with commands or hashes of the user are not passed on', () => {
  const own = { SPOOL_ITERATION: 'a/1', SPOOL_OWNER: '0', SPOOL_NOTIFY: 'curl', SPOOL_VERIFY: 'x', SPOOL_TRUST: '1' };

  expect(Object.keys(filterEnvironment([[]], own))).toEqual(['SPOOL_ITERATION', 'SPOOL_OWNER']);
  expect(filterEnvironment([['SPOOL_*']], own)).toEqual(own);
});
