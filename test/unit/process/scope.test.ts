import { expect, test } from 'vitest';
import { currentScope, perScope, withProcessScope } from '../../../src/process/scope.ts';

const scopeWith = (HOME: string) => ({ env: { HOME }, cwd: '/', passLists: [], ownsProcess: false });

test('each run has its own value, during all its asynchronous calls', async () => {
  const countOfRun = perScope(() => ({ count: 0 }));
  const run = (home: string, times: number) =>
    withProcessScope(scopeWith(home), async () => {
      for (let n = 0; n < times; n++) {
        await Promise.resolve();
        countOfRun().count++;
      }
      return [currentScope().env.HOME, countOfRun().count];
    });

  expect(await Promise.all([run('/a', 2), run('/b', 3)])).toEqual([
    ['/a', 2],
    ['/b', 3],
  ]);
  expect(countOfRun().count).toBe(0);
});

test('outside of a run the values belong to the program', () => {
  const valueOfRun = perScope(() => ({}));

  expect(valueOfRun()).toBe(valueOfRun());
  expect(currentScope().env).toBe(process.env);
});
