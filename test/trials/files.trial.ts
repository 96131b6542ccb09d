import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { createRandom, report } from '../support/trials.ts';

const files = ['state.json', 'history.jsonl', 'context.txt', 'lock'] as const;
const trials = 40;

type Damage = (whole: Buffer, random: () => number) => Buffer | string;

const damages: Record<string, Damage> = {
  truncated: (whole, random) => whole.subarray(0, Math.floor(random() * whole.length)),
  empty: () => '',
  garbage: (_, random) => Buffer.from(Array.from({ length: 200 }, () => Math.floor(random() * 256))),
  'of a newer version': (whole) => whole.toString().replaceAll(/"v": ?1/g, '"v": 99'),
  'other JSON': (_, random) => ['[]', 'null', '{}', '"text"', '{"v":1}', '{"v":"1"}'][Math.floor(random() * 6)]!,
};

/** The latest saved copy of a damaged state file. */
const lastSavedCopy = (project: TestProject): string => {
  const numbers = readdirSync(project.stateFile('.')).map((name) =>
    Number(/^state\.json\.damaged-(\d+)$/.exec(name)?.[1] ?? 0),
  );
  return project.stateFile(`state.json.damaged-${Math.max(...numbers)}`);
};

test(`${trials} damaged files are rejected or rebuilt, never destroyed, and never crash Spool`, async () => {
  const random = createRandom('files');
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const codes = new Map<number | null, number>();
  const project = createProject({ agent: [says('Hi.'), `touch done; ${promise}`] });
  await project.spool('ralph', '--change', change);
  await project.spool('ralph', '--add-context', 'a note', '--change', change);
  const whole = new Map(
    files.map((file) => [file, file === 'lock' ? Buffer.from('{}') : readFileSync(project.stateFile(file))]),
  );

  for (let trial = 0; trial < trials; trial++) {
    const file = pick(files);
    const name = pick(Object.keys(damages));
    for (const each of files) if (each !== 'lock') writeFileSync(project.stateFile(each), whole.get(each)!);
    const damaged = Buffer.from(damages[name]!(whole.get(file)!, random));
    writeFileSync(project.stateFile(file), damaged);

    const status = await project.spool('ralph', '--status', '--change', change);
    expect([0, 2]).toContain(status.code);
    expect(readFileSync(project.stateFile(file))).toEqual(damaged);
    const list = await project.spool('list');
    expect(list.code).toBe(0);
    const run = await project.spool('ralph', '--change', change, '--max-iterations', '2', '--retry-delay', '1ms');
    expect([0, 2]).toContain(run.code);
    expect(`${status.stderr}${list.stderr}${run.stderr}`).not.toMatch(/this is a bug|\n {4}at /);
    const after = readFileSync(project.stateFile(file === 'lock' ? 'state.json' : file));
    if (file === 'state.json' && run.code === 0 && run.stderr.includes('is damaged'))
      expect(readFileSync(lastSavedCopy(project))).toEqual(damaged);
    if (run.code === 2) expect(after.equals(file === 'lock' ? whole.get('state.json')! : damaged)).toBe(true);
    if (file === 'history.jsonl') expect(after.subarray(0, damaged.length).equals(damaged)).toBe(true);
    codes.set(run.code, (codes.get(run.code) ?? 0) + 1);
  }
  report({
    what: 'state.json, history.jsonl, context.txt or the lock truncated, empty, garbage or of a newer version',
    trials,
    found: `0 crashes, 0 destroyed; ${codes.get(0) ?? 0} runs continued, ${codes.get(2) ?? 0} rejected with one line`,
  });
});
