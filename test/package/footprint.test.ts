import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, root, spoolProgram, startProcess, type TestProject } from '../support/project.ts';

/** Budgets that do not depend on the machine. `npm run bench` measures times. */

interface Counts {
  readonly processes: number;
  readonly fsyncs: number;
  readonly files: number;
  readonly codeKb: number;
}

const countsOf = async (project: TestProject, ...args: string[]): Promise<Counts> => {
  const file = join(project.home, 'counts.json');
  await startProcess(process.execPath, ['--require', join(root, 'test/fixtures/counts.cjs'), spoolProgram, ...args], {
    cwd: project.folder,
    env: { ...project.env, COUNTS_FILE: file },
  }).result;
  return JSON.parse(readFileSync(file, 'utf8')) as Counts;
};

/** The cost of one more iteration, and the processes of a run besides those of its iterations. */
const perIteration = async (
  project: TestProject,
): Promise<Pick<Counts, 'processes' | 'fsyncs'> & { around: number }> => {
  const loop = (iterations: number) =>
    countsOf(
      project,
      'ralph',
      '--change',
      change,
      '--fresh',
      '--max-iterations',
      String(iterations),
      '--max-stalled',
      '9',
    );
  // The first run of a project also records its repository.
  await loop(1);
  // A run of one iteration knows what it has changed without asking git.
  const [two, five] = [await loop(2), await loop(5)];
  const processes = (five.processes - two.processes) / 3;
  return { processes, fsyncs: (five.fsyncs - two.fsyncs) / 3, around: two.processes - 2 * processes };
};

test.each([
  ['--version', 2, 31],
  ['--help', 5, 87],
  // For a complete run, which is compared with its record.
  ['ralph --status', 6, 215],
])('spool %s loads %i files with at most %i KB', async (args, files, limit) => {
  const project = createProject({ agent: [promise] });
  await project.spool('ralph', '--change', change);

  const words = args === 'ralph --status' ? ['ralph', '--status', '--change', change] : [args];

  const counts = await countsOf(project, ...words);

  expect(counts.files).toBe(files);
  // The time of a start is proportional to the code that is loaded.
  expect(counts.codeKb).toBeLessThanOrEqual(limit);
});

test.each([['--help'], ['ralph --status --change 002-01']])(
  'spool %s loads no streams and no terminal for output that is discarded',
  async (args) => {
    const project = createProject({ agent: ['true'] });
    await project.spool('ralph', '--change', change, '--max-iterations', '1');
    const file = join(project.home, 'builtins.json');

    const options = { cwd: project.folder, env: { ...project.env, BUILTINS_FILE: file }, stdio: 'ignore' } as const;
    const fixture = join(root, 'test/fixtures/builtins.cjs');
    execFileSync(process.execPath, ['--require', fixture, spoolProgram, ...args.split(' ')], options);

    const loaded = JSON.parse(readFileSync(file, 'utf8')) as string[];
    expect(loaded).toContain('fs');
    expect(loaded.filter((name) => ['tty', 'net', 'stream'].includes(name))).toEqual([]);
  },
);

test.each([
  ['without git', { git: false, agent: ['true'] }, { processes: 1, fsyncs: 2, around: 0 }],
  ['without changes', { agent: ['true'] }, { processes: 3, fsyncs: 2, around: 13 }],
  ['with a commit', { agent: ['date +%N%s > work.txt'] }, { processes: 15, fsyncs: 2, around: 15 }],
])('an iteration %s stays within its budget of processes and fsyncs', async (_, options, expected) => {
  expect(await perIteration(createProject(options))).toEqual(expected);
});

test('the unpacked package is below 2 MB', () => {
  const args = ['pack', '--json', '--dry-run', '--ignore-scripts', '--loglevel=error'];
  const env = { PATH: process.env.PATH, HOME: createProject({ git: false }).home };
  const [packed] = JSON.parse(execFileSync('npm', args, { cwd: root, env, encoding: 'utf8' })) as [
    { unpackedSize: number },
  ];
  expect(packed.unpackedSize).toBeLessThan(2_000_000);
});

test('the page is below 62 KB, compressed', () => {
  const folder = join(root, 'dist', 'web');
  const compressed = readdirSync(folder).filter((name) => name.endsWith('.br'));
  expect(compressed).toHaveLength(3);
  expect(compressed.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)).toBeLessThan(62_000);
});
