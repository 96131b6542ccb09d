// Records the reports of real test runners on the suites in test/fixtures/reports/suites.mjs, for the tests of the
// parsers. Run it after a change of the suites:
//   node scripts/record-reports.mjs [runner...]
// Runners of npm are installed into a temporary folder. pytest, go and bats have to be on PATH; without one, its reports stay.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suites } from '../test/fixtures/reports/suites.mjs';
import { runNpm } from './npm.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const reports = join(root, 'test', 'fixtures', 'reports');

/** Exact versions, so that two recordings differ only where a runner was updated. */
const packages = ['jest@30.5.2', 'jest-junit@17.0.0', 'mocha@12.0.3', 'tape@5.10.2'];

/**
 * @typedef {object} Recording
 * @property {string} runner The suite that it runs.
 * @property {string} report The file that it writes; the output, if the command does not write it.
 * @property {readonly string[]} command The name of a program, and its arguments. `REPORT` is the file.
 * @property {Record<string, string>} [env]
 */

/** @type {readonly Recording[]} */
const recordings = [
  ...['junit', 'json', 'tap', 'tap-flat'].map((format) => ({
    runner: 'vitest',
    report: `vitest-${format}.${{ junit: 'xml', json: 'json' }[format] ?? 'tap'}`,
    command: ['vitest', 'run', `--reporter=${format}`, '--outputFile=REPORT', '--root=.'],
  })),
  { runner: 'jest', report: 'jest.json', command: ['jest', '--json', '--outputFile=REPORT'] },
  {
    runner: 'jest',
    report: 'jest-junit.xml',
    command: ['jest', '--reporters=jest-junit'],
    env: { JEST_JUNIT_OUTPUT_FILE: 'REPORT' },
  },
  ...['tap', 'junit'].map((format) => ({
    runner: 'node-test',
    report: `node-test-${format}.${format === 'tap' ? 'tap' : 'xml'}`,
    command: [
      'node',
      '--test',
      `--test-reporter=${format}`,
      '--test-reporter-destination=REPORT',
      'test/login.test.js',
    ],
  })),
  {
    runner: 'mocha',
    report: 'mocha-xunit.xml',
    command: ['mocha', '--reporter', 'xunit', '--reporter-options', 'output=REPORT', 'test'],
  },
  { runner: 'tape', report: 'tape.tap', command: ['tape', 'test/*.js'] },
  {
    runner: 'pytest',
    report: 'pytest-junit.xml',
    command: ['pytest', '-q', '-p', 'no:cacheprovider', '--junitxml=REPORT'],
  },
  { runner: 'bats', report: 'bats.tap', command: ['bats', '--formatter', 'tap', 'test'] },
  { runner: 'bats', report: 'bats-junit.xml', command: ['bats', '--formatter', 'junit', 'test'] },
  { runner: 'go', report: 'go-test.json', command: ['go', 'test', '-json', './...'] },
];

/** @param {string} folder @param {Record<string, string>} files */
const write = (folder, files) => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text.replaceAll('TAG', '@scenario'));
  }
};

/** Without the paths and the name of this machine. @param {string} text @param {string} folder @param {string} installed */
const withoutMachine = (text, folder, installed) =>
  text
    .replaceAll(`${folder}/`, '/project/')
    .replaceAll(folder, '/project')
    .replaceAll(`${installed}/`, '/project/')
    .replaceAll(root, '/project/')
    .replaceAll(dirname(process.execPath), '/bin')
    .replaceAll(hostname(), 'host')
    .replaceAll(/(?:\/[\w.-]+)+\/(?:go-build|lib\/go|go-1\.\d+)[\w./-]*/g, '/go');

/** @param {Recording} recording @param {string} installed The folder with the runners of npm. */
const record = ({ runner, report, command, env = {} }, installed) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'spool-reports-')));
  try {
    const [name = '', ...args] = command;
    write(folder, { 'package.json': '{}', ...suites[runner] });
    symlinkSync(join(runner === 'vitest' ? root : installed, 'node_modules'), join(folder, 'node_modules'));
    const file = join(folder, 'report');
    const fill = (/** @type {string} */ text) => text.replace('REPORT', file);
    const filled = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value)]));
    const local = ['node', 'pytest', 'go', 'bats'].includes(name) ? name : join(folder, 'node_modules', '.bin', name);
    const { PATH, HOME } = process.env;
    const { stdout, error } = spawnSync(local, args.map(fill), {
      cwd: folder,
      env: { PATH, HOME, CI: 'true', NO_COLOR: '1', TZ: 'UTC', LANG: 'C.UTF-8', ...filled },
      maxBuffer: 100_000_000,
    });
    if (error !== undefined) return process.stderr.write(`${runner} cannot be run: ${error.message}\n`);
    const text = existsSync(file) ? readFileSync(file, 'utf8') : stdout.toString('utf8');
    writeFileSync(join(reports, report), withoutMachine(text, folder, installed));
    return process.stderr.write(`${report}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const wanted = process.argv.slice(2);
const installed = realpathSync(mkdtempSync(join(tmpdir(), 'spool-runners-')));
try {
  writeFileSync(join(installed, 'package.json'), '{}');
  if (wanted.length === 0 || wanted.some((name) => ['jest', 'mocha', 'tape'].includes(name)))
    runNpm(['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], installed);
  for (const each of recordings) if (wanted.length === 0 || wanted.includes(each.runner)) record(each, installed);
} finally {
  rmSync(installed, { recursive: true });
}
