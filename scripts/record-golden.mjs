// Records what each real agent CLI prints, against the scripted model: node scripts/record-golden.mjs [agent …]
// The decoders are tested on these files. Each says with which version it was made.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { agents } from '../test/model/agents.mjs';
import { scenarios } from '../test/model/scenarios.mjs';
import { startModel } from '../test/model/server.mjs';
import { agentBin } from './agents.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const loadHarnesses = async () => {
  const { output } = await build({ cwd: root, platform: 'node', input: 'src/harness/registry.ts', write: false });
  const source = Buffer.from(output[0].code).toString('base64');
  return (await import(`data:text/javascript;base64,${source}`)).harnesses;
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
  const args = await harness.launch.args({
    version: async () => agent.version,
    model: agent.model,
    allowAll,
    asSuperuser: process.getuid?.() === 0,
    prompt: '',
    promptFile: '',
    title: 'golden',
  });
  const child = spawn(harness.launch.binary, args, { cwd: project, env, stdio: 'pipe' });
  child.stdin.end('# Ralph Wiggum Loop - Iteration 1\n\nDo it.\n');
  const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal)));
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  const clean = (/** @type {string} */ output) =>
    output
      .replaceAll(base, '/home/user')
      .replaceAll(dirname(dirname(agentBin(harness.name))), '/agents')
      .replaceAll(model.url, 'http://model');
  const folder = join(root, 'test', 'fixtures', 'golden', harness.name);
  mkdirSync(folder, { recursive: true });
  const golden = {
    agent: harness.name,
    version: async () => agent.version,
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
