// Records what each real agent CLI prints, against the scripted model: node scripts/record-golden.mjs [agent …]
// The decoders are tested on these files. Each says with which version it was made.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { agents } from '../test/model/agents.mjs';
import { scenarios } from '../test/model/scenarios.mjs';
import { startModel } from '../test/model/server.mjs';
import { agentBin } from './agents.mjs';
import { loadHarnesses } from './harnesses.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The log of one iteration, for an agent that is prompted by the protocol.
 * @param {any} harness @param {boolean} allowAll @param {{ cwd: string, env: Record<string, string> }} place
 */
const recordLog = async (harness, allowAll, place) => {
  const args = ['ralph', 'Do it.', '--harness', harness.name, '--model', agents[harness.name]?.model ?? ''];
  const once = ['--agent-mode', 'cold', '--max-iterations', '1', '--fail-fast', ...(allowAll ? ['--allow-all'] : [])];
  const child = spawn(process.execPath, [join(root, 'dist', 'spool.cjs'), ...args, ...once], {
    ...place,
    stdio: 'ignore',
  });
  await new Promise((resolve) => child.on('exit', resolve));
  const runs = join(place.cwd, '.spool', '.state', 'ralph');
  const name = readdirSync(runs, { recursive: true, encoding: 'utf8' }).find((file) => file.endsWith('0001.log')) ?? '';
  const lines = readFileSync(join(runs, name), 'utf8').split('\n');
  const asked = lines.findIndex((line) => line.startsWith('> ') && line.includes('"session/prompt"'));
  const told = lines.slice(asked).filter((line) => !line.includes('"available_commands_update"'));
  return { stdout: told.join('\n'), stderr: '', exit: 0 };
};

/**
 * What the CLI of an agent prints for one prompt.
 * @param {any} harness @param {boolean} allowAll @param {{ cwd: string, env: Record<string, string> }} place
 */
const recordCli = async (harness, allowAll, place) => {
  const args = await harness.launch.args({
    version: async () => agents[harness.name]?.version,
    model: agents[harness.name]?.model,
    allowAll,
    asSuperuser: process.getuid?.() === 0,
    prompt: '',
    promptFile: '',
    title: 'golden',
  });
  const child = spawn(harness.launch.binary, args, { ...place, stdio: 'pipe' });
  child.stdin.end('# Ralph Wiggum Loop - Iteration 1\n\nDo it.\n');
  const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal)));
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { stdout, stderr, exit };
};

/** @param {any} harness @param {keyof typeof scenarios} scenario */
const record = async (harness, scenario) => {
  const agent = agents[harness.name];
  if (!agent) return;
  const base = mkdtempSync(join(tmpdir(), 'spool-golden-'));
  const project = join(base, 'project');
  mkdirSync(project);
  execFileSync('git', ['init', '--quiet'], { cwd: project });
  const { script, allowAll } = scenarios[scenario];
  const model = await startModel({ script: (moment) => script(moment, project) });
  const env = {
    PATH: [agentBin(harness.name), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
    HOME: base,
    TERM: 'dumb',
    ...agent.prepare(base, model.url),
  };
  const recordOne = harness.acp?.only ? recordLog : recordCli;
  const { stdout, stderr, exit } = await recordOne(harness, allowAll, { cwd: project, env });
  const clean = (/** @type {string} */ output) =>
    output
      .replaceAll(base, '/home/user')
      .replaceAll(dirname(dirname(agentBin(harness.name))), '/agents')
      .replaceAll(model.url, 'http://model');
  const folder = join(root, 'test', 'fixtures', 'golden', harness.name);
  mkdirSync(folder, { recursive: true });
  const golden = {
    agent: harness.name,
    version: agent.version,
    scenario,
    exit,
    stdout: clean(stdout),
    stderr: clean(stderr),
  };
  writeFileSync(join(folder, `${scenario}.json`), `${JSON.stringify(golden, null, 2)}\n`);
  process.stdout.write(`${harness.name} ${scenario}: exit ${exit}, ${stdout.length} characters\n`);
  await model.close();
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
};

const wanted = process.argv.slice(2);
for (const harness of await loadHarnesses())
  if (harness.name in agents && (wanted.length === 0 || wanted.includes(harness.name)))
    for (const scenario of Object.keys(scenarios))
      await record(harness, /** @type {keyof typeof scenarios} */ (scenario));
