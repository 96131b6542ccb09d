import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { change, createProject, root } from '../support/project.ts';
import { report } from '../support/trials.ts';

/** Spool with a clock that is off by the number of milliseconds in a file. */
const withClock = (project: ReturnType<typeof createProject>) => {
  const offset = join(project.home, 'offset');
  writeFileSync(offset, '0');
  return {
    env: { NODE_OPTIONS: `--import ${join(root, 'test/fixtures/clock.mjs')}`, CLOCK_OFFSET: offset },
    jump: (ms: number) => writeFileSync(offset, String(ms)),
  };
};

const hour = 3_600_000;

test.each([
  ['back by an hour', -hour],
  ['ahead by an hour', hour],
  ['ahead by a day', 24 * hour],
])('a clock that jumps %s during an iteration and a pause has no effect', async (_, ms) => {
  const script = ['touch ready; until [ -e go ]; do sleep 0.01; done; exit 1', says('Hi.'), promise];
  const project = createProject({ agent: script });
  const { env, jump } = withClock(project);
  const limits = [
    '--idle-timeout',
    '20s',
    '--iteration-timeout',
    '30s',
    '--max-duration',
    '60s',
    '--retry-delay',
    '200ms',
  ];
  const loop = project.start(['ralph', '--change', change, ...limits], { env });
  await eventually(() => project.exists('ready'), 'the agent to work');
  jump(ms);
  project.write('go', '');
  await loop.printed('Resuming');
  jump(0);

  expect(await loop.result).toMatchObject({ code: 0 });
  const history = project.history();
  expect(history).toMatchObject([{ end: 'exited', exitCode: 1 }, { error: null }, { completionFound: true }]);
  for (const { durationMs } of history) {
    expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(durationMs).toBeLessThan(30_000);
  }
  report({ what: `a clock that jumps ${_}`, trials: 1, found: 'nothing ended early or late, durations correct' });
});

test('a clock that jumps ahead ends a wait for a usage limit', async () => {
  const limit = {
    type: 'error',
    error: { name: 'APIError', data: { message: 'usage limit, try again in 3 hours', statusCode: 429 } },
  };
  const project = createProject({ agent: [`echo '${JSON.stringify(limit)}'; exit 1`, promise] });
  const { env, jump } = withClock(project);
  const loop = project.start(['ralph', '--change', change], { env });
  await loop.printed('Resuming');
  jump(4 * hour);

  expect(await loop.result).toMatchObject({ code: 0 });
  report({ what: 'a clock that jumps over the end of a wait', trials: 1, found: 'the wait ended' });
});
