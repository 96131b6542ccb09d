// What is timed: loops of Spool, and what they are compared with.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { timeOf } from './measure.mjs';
import { change, dropRuns, endless, root, setAgent, spoolProgram } from './places.mjs';

/** @typedef {import('./places.mjs').Place} Place */

/**
 * What one iteration takes on top of starting and ending.
 * @param {number} iterations
 * @param {(count: number) => number} loop
 */
export const perIteration = (iterations, loop) => (loop(iterations + 1) - loop(1)) / iterations;

/** @param {Place} place @param {number} count @param {readonly string[]} [more] */
export const spoolLoop = (place, count, more = []) => timeOf(spoolWork(place, [...loopOf(count), ...more]));

/**
 * Why there is no sandbox on this machine; null when there is one.
 * @param {Place} place
 * @returns {string | null}
 */
export const sandboxProblem = (place) => {
  const { stdout } = spawnSync(process.execPath, [spoolProgram, 'doctor', '--json', '--sandbox'], {
    cwd: place.folder,
    env: place.env,
    encoding: 'utf8',
  });
  /** @type {{ about: string; status: string; message: string }[]} */
  const checks = JSON.parse(stdout);
  return checks.find(({ about, status }) => about === 'sandbox' && status === 'fail')?.message ?? null;
};

/** @param {number} count */
const loopOf = (count) => [
  'ralph',
  'Go.',
  '--change',
  change,
  '--fresh',
  '--max-iterations',
  String(count),
  ...endless,
];

/** @param {Place} place @param {readonly string[]} args */
export const spoolWork = (place, args) => ({
  command: process.execPath,
  args: [spoolProgram, ...args],
  cwd: place.folder,
  env: place.env,
  codes: [0, 3],
});

export const statusOf = ['ralph', '--status', '--change', change];

/** @param {Place} place @param {number} count @param {string} then */
export const shellLoop = (place, count, then) => {
  writeFileSync(`${place.folder}.prompt`, 'Go.\n');
  const script = `i=0; while [ $i -lt ${count} ]; do opencode run < "${place.folder}.prompt" > "${place.folder}.log"; ${then} i=$((i+1)); done`;
  return timeOf({ command: 'bash', args: ['-c', script], cwd: place.folder, env: place.env });
};

/**
 * A bare Node program that does what every iteration of a durable loop has to do.
 * @param {Place} place @param {number} count @param {string} then A shell script after each iteration; empty for none.
 */
export const recordingLoop = (place, count, then) => {
  const records = `${place.folder}.records`;
  mkdirSync(records, { recursive: true });
  const args = [join(root, 'bench', 'recording-loop.cjs'), String(count), records, then];
  return timeOf({ command: process.execPath, args, cwd: place.folder, env: place.env });
};

/** What a checkpoint takes at least. */
export const checkpointInShell = `
  GIT_INDEX_FILE=.git/bench-index git add --all
  tree=$(GIT_INDEX_FILE=.git/bench-index git write-tree)
  commit=$(git commit-tree "$tree" -m "checkpoint $i")
  git update-ref "refs/bench/$i" "$commit"
`;

/** @param {Place} place @param {number} from @param {number} iterations @param {() => void} putBack */
export const resumedIteration = (place, from, iterations, putBack) =>
  perIteration(iterations, (count) => {
    putBack();
    return timeOf(spoolWork(place, ['ralph', '--change', change, '--max-iterations', String(from + count)]));
  });

/**
 * A file of the given number of megabytes.
 * @param {string} base @param {number} megabytes @param {'lines' | 'one line'} shape
 */
export const makeOutput = (base, megabytes, shape) => {
  const path = join(base, `${megabytes}-${shape.replace(' ', '-')}.txt`);
  const line = 'The agent says something about what it does, and goes on.'.padEnd(99, '.');
  const block = Buffer.from(shape === 'lines' ? `${line}\n`.repeat(10_000) : 'x'.repeat(1e6));
  writeFileSync(path, Buffer.concat(Array.from({ length: megabytes }, () => block)));
  return path;
};

/**
 * Output that goes through a pipe to a file, like that of an agent. (`cat` from file to file copies inside the kernel.)
 * @param {Place} place @param {string} output
 */
export const pipeLoop = (place, output) =>
  timeOf({
    command: '/bin/sh',
    args: ['-c', `cat "${output}" | cat > "${place.folder}.log"`],
    cwd: place.folder,
    env: place.env,
  });

/**
 * What the output adds to a run. The logs of earlier ones are removed, as the disk would still be busy with them.
 * @param {Place} place @param {string} output
 */
export const outputLoop = (place, output) => {
  setAgent(place, null);
  const without = spoolLoop(place, 1);
  setAgent(place, `cat "${output}"`);
  const whole = spoolLoop(place, 1);
  dropRuns(place);
  return whole - without;
};

/**
 * The same for a program that only keeps the output: what Node itself takes.
 * @param {Place} place @param {string} output
 */
export const bareLoop = (place, output) => {
  const time = (/** @type {string} */ command) =>
    timeOf({ command: process.execPath, args: [bareProgram, command, `${place.folder}.log`], env: place.env });
  return time(`cat "${output}"`) - time('true');
};

/** @param {Place} place @param {string} output */
export const bareMemoryOf = (place, output) =>
  countsOf(place, [`cat "${output}"`, `${place.folder}.log`], bareProgram).maxRssMb;

const bareProgram = join(root, 'bench', 'bare.cjs');

/** @param {Place} place @param {string} output */
export const memoryOf = (place, output) => {
  setAgent(place, `cat "${output}"`);
  const { maxRssMb } = countsOf(place, loopOf(1));
  dropRuns(place);
  return maxRssMb;
};

/** @param {Place} place */
export const perIterationCounts = (place) => {
  const [few, more] = [countsOf(place, loopOf(1)), countsOf(place, loopOf(11))];
  return `${(more.processes - few.processes) / 10} processes, ${(more.fsyncs - few.fsyncs) / 10} fsyncs`;
};

/**
 * @param {Place} place @param {readonly string[]} args
 * @returns {{ processes: number; fsyncs: number; files: number; codeKb: number; maxRssMb: number }}
 */
export const countsOf = (place, args, program = spoolProgram) => {
  const file = `${place.folder}.counts`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--require', join(root, 'test', 'fixtures', 'counts.cjs'), program, ...args],
    {
      cwd: place.folder,
      env: { ...place.env, COUNTS_FILE: file },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  if (status !== 0 && status !== 3) throw new Error(`spool ${args.join(' ')} ended with ${status}: ${stderr}`);
  return JSON.parse(readFileSync(file, 'utf8'));
};
