import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';
import { report } from '../support/trials.ts';

const writers = 100;
const rounds = 10;

test(`${writers} concurrent --add-context are all stored, ${rounds} times`, async () => {
  const project = createProject();
  const expected: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const texts = Array.from({ length: writers }, (_, writer) => `${round}/${writer} ${'long '.repeat(writer)}end`);
    const results = await Promise.all(
      texts.map((text) => project.spool('ralph', '--add-context', text, '--change', change)),
    );
    expect(results.filter(({ code }) => code !== 0)).toEqual([]);
    expected.push(...texts);
  }
  const kept = readFileSync(project.stateFile('context.txt'), 'utf8').trimEnd().split('\n');
  expect(kept.toSorted()).toEqual(expected.toSorted());
  report({
    what: `${writers} concurrent --add-context`,
    trials: rounds,
    found: `${kept.length} of ${expected.length} texts stored, none truncated`,
  });
});

test('exactly one of two to ten loops started at once on a change runs', async () => {
  let started = 0;
  for (let loops = 2; loops <= 10; loops++) {
    const project = createProject({ agent: [`${waitsFor('go-on')}; ${promise}`] });
    const all = Array.from({ length: loops }, () => project.start(['ralph', '--change', change]));
    await Promise.all(
      all.map((loop) => Promise.race([loop.printed('waiting for go-on'), loop.result]).catch(() => {})),
    );
    project.write('go-on', '');
    const codes = await Promise.all(all.map(async (loop) => (await loop.result).code));
    expect(codes.toSorted()).toEqual([0, ...Array<number>(loops - 1).fill(2)]);
    expect(project.calls()).toHaveLength(1);
    started += loops;
  }
  report({
    what: 'two to ten loops at once on one change',
    trials: 9,
    found: `${started} started, exactly one ran each time`,
  });
});

test('one of two loops on two changes in one folder runs', async () => {
  const other = '002-02_another';
  const project = createProject({
    files: { [`.spool/changes/${other}/proposal.md`]: '# Another\n' },
    agent: [`${waitsFor('go-on')}; ${promise}`],
  });
  const first = project.start(['ralph', '--change', change]);
  await first.printed('waiting for go-on');

  const second = await project.spool('ralph', '--change', other);
  project.write('go-on', '');

  expect(second).toMatchObject({ code: 2 });
  expect(second.stderr).toMatch(
    new RegExp(`^spool: ${change} is already running in this folder \\(PID ${first.pid}, `),
  );
  expect(await first.result).toMatchObject({ code: 0 });
  expect(await project.spool('ralph', '--change', other)).toMatchObject({ code: 0 });
  report({
    what: 'two loops on two changes in one folder',
    trials: 1,
    found: 'one ran, the other failed with one line',
  });
});
