// npm run prove: proves the specification of this repository with Spool itself. In a clone, the specs are those of a change,
// and a scripted agent says that it is done. What counts is the gate: it runs test/scenarios, in which every test names its
// scenario. Prints the proof, and writes it to .ci/artefacts/proof.html. Fails unless every scenario is proven.
//
// Some tests run commands of Spool that are refused below an iteration. So the command of the gate asks this process to run
// the tests, and writes the report: node scripts/prove.mjs <socket> <report>
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const change = '000-01_specification';

/** @param {string} command @param {readonly string[]} args @param {import('node:child_process').SpawnOptions} options */
const run = async (command, args, options) => {
  const child = spawn(command, args, { stdio: 'inherit', ...options });
  const [code] = /** @type {[number | null]} */ (await once(child, 'exit'));
  return code ?? 1;
};

/** The command of the gate. @param {string} socketPath @param {string} report */
const ask = async (socketPath, report) => {
  const question = request({ socketPath, method: 'POST' }).end();
  const [answer] = /** @type {[import('node:http').IncomingMessage]} */ (await once(question, 'response'));
  let text = '';
  for await (const chunk of answer) text += chunk;
  writeFileSync(report, text);
  return Number(answer.headers['x-exit-code']);
};

/** Runs the tests of a clone when it is asked, and answers with their report. @param {string} clone */
const createRunner = (clone) =>
  createServer(async (_, response) => {
    const report = join(dirname(clone), 'report.json');
    rmSync(report, { force: true });
    const args = [
      'vitest',
      'run',
      'test/scenarios',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ];
    const code = await run('npx', args, { cwd: clone });
    response.setHeader('x-exit-code', String(code));
    response.end(readFileSync(report));
  });

/** The specs as those of a change: all of their requirements are added. @param {string} clone */
const createChange = (clone) => {
  /** @param {string} name @param {string} text */
  const write = (name, text) => {
    const path = join(clone, '.spool', 'changes', change, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  for (const name of readdirSync(join(clone, 'specs')).filter((one) => one.endsWith('.md'))) {
    const text = readFileSync(join(clone, 'specs', name), 'utf8').replace(/^# .*\n/, '## ADDED Requirements\n');
    write(`specs/${basename(name, '.md')}/spec.md`, text);
  }
  write('proposal.md', '# The specification of Spool\n\nEvery scenario has a test.\n');
};

const prove = async () => {
  const base = mkdtempSync(join(tmpdir(), 'spool-prove-'));
  const [clone, home, socket] = [join(base, 'spool'), join(base, 'home'), join(base, 'socket')];
  const path = [join(root, 'test', 'fixtures', 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { ...process.env, HOME: home, PATH: path, XDG_STATE_HOME: '', SPOOL_AGENT_MODE: 'cold' };
  /** @param {...string} args */
  const spool = (...args) => run(process.execPath, [join(root, 'dist', 'spool.cjs'), ...args], { cwd: clone, env });
  const runner = createRunner(clone).listen(socket);
  try {
    execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone]);
    mkdirSync(join(home, 'agent'), { recursive: true });
    writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Spool\n\temail = spool@example.com\n');
    writeFileSync(join(home, 'agent', '1.sh'), `echo '<promise>COMPLETE</promise>'\n`);
    symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
    cpSync(join(root, 'dist'), join(clone, 'dist'), { recursive: true });
    createChange(clone);
    const verify = `node scripts/prove.mjs ${socket} "$SPOOL_REPORTS/vitest.json"`;
    const gate = ['--require-scenarios', '--verify', verify, '--verify-timeout', '30m'];
    const ended = await spool('ralph', change, '--agent', 'opencode', '--max-iterations', '1', ...gate);
    const proof = await spool('proof', change);
    const artefacts = join(root, '.ci', 'artefacts');
    mkdirSync(artefacts, { recursive: true });
    await spool('proof', change, '--html', '--output', join(artefacts, 'proof.html'));
    return ended === 0 && proof === 0 ? 0 : 1;
  } finally {
    runner.close();
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }
};

const [socket, report] = process.argv.slice(2);
process.exitCode = socket === undefined || report === undefined ? await prove() : await ask(socket, report);
