// What is measured, against which floor, and how it may compare.
import { execFileSync } from 'node:child_process';
import { inTurns, median, ratioOf, timeOf } from './measure.mjs';
import { change, makeHistory, makeProject, makeRepository, root, shareHistory, spoolProgram } from './places.mjs';
import {
  bareLoop,
  bareMemoryOf,
  pipeLoop,
  checkpointInShell,
  countsOf,
  makeOutput,
  memoryOf,
  outputLoop,
  perIteration,
  perIterationCounts,
  recordingLoop,
  resumedIteration,
  sandboxProblem,
  shellLoop,
  spoolLoop,
  spoolWork,
  statusOf,
} from './work.mjs';

/**
 * @typedef {import('./places.mjs').Place} Place
 * @typedef {ReturnType<typeof ratioOf>} Ratio
 * @typedef {object} Setting
 * @property {string} base
 * @property {boolean} quick
 * @property {(line: string) => void} say
 */

/**
 * @typedef {object} Row
 * @property {string} work
 * @property {string} floor
 * @property {number} goal The ratio that it may have at most.
 * @property {Ratio} ratio
 * @property {'ms' | 'MB'} unit
 * @property {string} [note]
 */

/** @param {Setting} setting @returns {Row[]} */
export const startRows = ({ base, quick }) => {
  const place = makeProject(base, 'start');
  makeHistory(place, 10);
  /** @param {readonly string[]} args */
  const node = (...args) => timeOf({ command: process.execPath, args, cwd: place.folder, env: place.env });
  const times = inTurns(quick ? 9 : 25, {
    node: () => node('-e', '0'),
    version: () => node(spoolProgram, '--version'),
    help: () => node(spoolProgram, '--help'),
    status: () => node(spoolProgram, 'ralph', '--status', '--change', change),
  });
  const note = (/** @type {readonly string[]} */ ...args) => {
    const { files, codeKb } = countsOf(place, args);
    return `${files} files, ${codeKb} KB`;
  };
  const common = { floor: 'node -e 0', unit: /** @type {const} */ ('ms') };
  return [
    {
      ...common,
      work: 'spool --version',
      goal: 1.3,
      ratio: ratioOf(times.version, times.node),
      note: note('--version'),
    },
    { ...common, work: 'spool --help', goal: 1.5, ratio: ratioOf(times.help, times.node), note: note('--help') },
    {
      ...common,
      work: 'spool ralph --status',
      goal: 1.6,
      ratio: ratioOf(times.status, times.node),
      note: note('ralph', '--status', '--change', change),
    },
  ];
};

/** @param {Setting} setting @returns {Row[]} */
export const iterationRows = ({ base, quick }) => {
  const [rounds, iterations] = quick ? [5, 20] : [15, 40];
  const bare = makeProject(base, 'bare');
  const small = makeProject(base, 'small');
  makeRepository(small, 20);
  return [
    {
      work: 'one iteration, the agent exits at once, no git',
      floor: 'a bare Node loop that saves the same',
      goal: 2.5,
      unit: 'ms',
      ...iterationRatio(bare, { rounds, iterations, after: '' }),
    },
    {
      work: 'one iteration in a small repository, with checkpoint and commit check',
      floor: 'the bare Node loop and 4 git calls',
      goal: 1.5,
      unit: 'ms',
      ...iterationRatio(small, { rounds, iterations, after: checkpointInShell }),
    },
  ];
};

/**
 * @param {Place} place
 * @param {{ rounds: number; iterations: number; after: string }} options
 */
const iterationRatio = (place, { rounds, iterations, after }) => {
  const times = inTurns(rounds, {
    shell: () => perIteration(iterations, (count) => shellLoop(place, count, after)),
    floor: () => perIteration(iterations, (count) => recordingLoop(place, count, after)),
    spool: () => perIteration(iterations, (count) => spoolLoop(place, count)),
  });
  const shell = ratioOf(times.spool, times.shell).ratio.toFixed(1);
  return {
    ratio: ratioOf(times.spool, times.floor),
    note: `${perIterationCounts(place)}; ${shell} × a shell loop that saves nothing`,
  };
};

/** @param {Setting} setting @returns {Row[]} */
export const sandboxRows = ({ base, quick, say }) => {
  const [rounds, iterations] = quick ? [5, 5] : [11, 10];
  const place = makeProject(base, 'sandbox');
  makeRepository(place, 20);
  const problem = sandboxProblem(place);
  if (problem !== null) {
    say(`left out, as there is no sandbox here: ${problem}`);
    return [];
  }
  const times = inTurns(rounds, {
    floor: () => perIteration(iterations, (count) => spoolLoop(place, count)),
    spool: () => perIteration(iterations, (count) => spoolLoop(place, count, ['--sandbox'])),
    start: () => spoolLoop(place, 1, ['--sandbox']) - spoolLoop(place, 1),
  });
  return [
    {
      work: 'one iteration in a sandbox, the agent exits at once, small repository',
      floor: 'the same without a sandbox',
      goal: 15,
      ratio: ratioOf(times.spool, times.floor),
      unit: 'ms',
      note: `the first one: ${Math.round(median(times.start))} ms more`,
    },
  ];
};

/** @param {Setting} setting @returns {Row[]} */
export const repositoryRows = ({ base, quick, say }) => {
  const files = quick ? 10_000 : 50_000;
  const [rounds, iterations] = quick ? [3, 5] : [7, 10];
  say(`making a repository of ${files} files`);
  const large = makeProject(base, 'large');
  makeRepository(large, files);
  return [
    {
      work: `one iteration in a repository of ${files.toLocaleString('en')} files`,
      floor: 'one git status there',
      goal: 2.5,
      ratio: repositoryRatio(large, rounds, iterations),
      unit: 'ms',
      note: perIterationCounts(large),
    },
  ];
};

/**
 * @param {Place} place
 * @param {number} rounds
 * @param {number} iterations
 */
const repositoryRatio = (place, rounds, iterations) => {
  const status = { command: 'git', args: ['status', '--porcelain'], cwd: place.folder, env: place.env };
  const times = inTurns(rounds, {
    floor: () => median([timeOf(status), timeOf(status), timeOf(status)]),
    spool: () => perIteration(iterations, (count) => spoolLoop(place, count)),
  });
  return ratioOf(times.spool, times.floor);
};

/** @param {Setting} setting @returns {Row[]} */
export const outputRows = ({ base, quick, say }) => {
  const [megabytes, lineMegabytes] = quick ? [50, 50] : [500, 100];
  const rounds = 3;
  say('making large outputs');
  const lines = makeOutput(base, megabytes, 'lines');
  const oneLine = makeOutput(base, lineMegabytes, 'one line');
  const little = makeOutput(base, 1, 'lines');
  const place = makeProject(base, 'output');
  return [lines, oneLine].flatMap((output) => {
    const times = inTurns(rounds, {
      floor: () => pipeLoop(place, output),
      bare: () => bareLoop(place, output),
      spool: () => outputLoop(place, output),
    });
    const memory = ratioOf([memoryOf(place, output)], [memoryOf(place, little)]);
    const bareMemory = ratioOf([bareMemoryOf(place, output)], [bareMemoryOf(place, little)]);
    const work = output === lines ? `${megabytes} MB of output in one iteration` : `one line of ${lineMegabytes} MB`;
    const bare = (/** @type {Ratio} */ { ratio }) => `a bare Node program: ${ratio.toFixed(2)} ×`;
    return [
      {
        work,
        floor: 'a pipe to a file',
        // Of a small output, most is over before Node has compiled the code for it.
        goal: quick ? 9 : 3,
        ratio: ratioOf(times.spool, times.floor),
        unit: /** @type {const} */ ('ms'),
        note: bare(ratioOf(times.bare, times.floor)),
      },
      {
        work: `${work}: memory`,
        floor: '1 MB of output',
        goal: 1.5,
        ratio: memory,
        unit: /** @type {const} */ ('MB'),
        note: bare(bareMemory),
      },
    ];
  });
};

/** @param {Setting} setting @returns {Row[]} */
export const historyRows = ({ base, quick, say }) => {
  const many = quick ? 10_000 : 100_000;
  const [rounds, iterations] = quick ? [5, 20] : [11, 40];
  say(`making a history of ${many} iterations`);
  const [short, long] = [makeProject(base, 'short'), makeProject(base, 'long')];
  const backShort = makeHistory(short, 10);
  const backLong = makeHistory(long, many);
  const times = inTurns(rounds, {
    floor: () => resumedIteration(short, 10, iterations, backShort),
    spool: () => resumedIteration(long, many, iterations, backLong),
  });
  backLong();
  const status = inTurns(quick ? 9 : 25, {
    floor: () => timeOf(spoolWork(short, statusOf)),
    spool: () => timeOf(spoolWork(long, statusOf)),
  });
  const number = (many + 1).toLocaleString('en');
  return [
    {
      work: `iteration ${number}`,
      floor: 'iteration 11',
      goal: 1.3,
      ratio: ratioOf(times.spool, times.floor),
      unit: 'ms',
    },
    {
      work: `--status after ${many.toLocaleString('en')} iterations`,
      floor: 'after 10',
      goal: 1.3,
      ratio: ratioOf(status.spool, status.floor),
      unit: 'ms',
    },
  ];
};

/** @param {Setting} setting @returns {Row[]} */
export const listRows = ({ base, quick, say }) => {
  const [changes, iterations] = [50, quick ? 1000 : 10_000];
  say(`making ${changes} changes with ${iterations} iterations each`);
  const one = makeProject(base, 'list-1');
  const short = makeProject(base, 'list-short', { changes });
  const long = makeProject(base, 'list-long', { changes });
  makeHistory(one, iterations);
  makeHistory(short, 10);
  makeHistory(long, iterations);
  shareHistory(short, changes);
  shareHistory(long, changes);
  const list = ['list'];
  const times = inTurns(quick ? 7 : 15, {
    one: () => timeOf(spoolWork(one, list)),
    short: () => timeOf(spoolWork(short, list)),
    long: () => timeOf(spoolWork(long, list)),
  });
  const each = iterations.toLocaleString('en');
  return [
    {
      work: `${changes} changes listed, ${each} iterations each`,
      floor: '10 iterations each',
      goal: 1.3,
      ratio: ratioOf(times.long, times.short),
      unit: 'ms',
    },
    {
      work: `${changes} changes listed, ${each} iterations each`,
      floor: 'one change',
      goal: changes,
      ratio: ratioOf(times.long, times.one),
      unit: 'ms',
    },
  ];
};

/** @returns {Row[]} */
export const packageRows = () => {
  const packed = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--dry-run', '--ignore-scripts', '--loglevel=error'], {
      cwd: root,
      encoding: 'utf8',
    }),
  );
  const megabytes = packed[0].unpackedSize / 1e6;
  const ratio = { ratio: megabytes, low: megabytes, high: megabytes, value: megabytes, floor: 1 };
  return [
    {
      work: 'the published package, unpacked',
      floor: '1 MB',
      goal: 2,
      ratio,
      unit: 'MB',
      note: `${packed[0].entryCount} files`,
    },
  ];
};
