// A real loop to watch: the real OpenCode, a scripted model on loopback, a sample project in a temporary folder.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agents } from '../test/model/agents.mjs';
import { startModel } from '../test/model/server.mjs';
import { change, demoScript, sampleFiles } from './demo-script.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const project = mkdtempSync(join(tmpdir(), 'spool-demo-'));
const home = mkdtempSync(join(tmpdir(), 'spool-demo-home-'));
const model = await startModel({ script: demoScript(project), pauseMs: 15 });

/** Nothing of the user's own settings and keys reaches the agent. */
const env = {
  PATH: [join(root, 'node_modules', '.bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
  HOME: home,
  ...onWindows(),
  LANG: process.env.LANG ?? 'C.UTF-8',
  TERM: process.env.TERM ?? 'dumb',
  ...(process.env.NO_COLOR ? { NO_COLOR: process.env.NO_COLOR } : {}),
  ...agents.opencode?.prepare(home, model.url),
};

/** What no program on Windows starts without, and what it takes for HOME. */
function onWindows() {
  if (process.platform !== 'win32') return {};
  const needed = ['SystemRoot', 'SystemDrive', 'ComSpec', 'PATHEXT', 'TEMP', 'TMP'];
  const found = Object.fromEntries(needed.map((name) => [name, process.env[name] ?? '']));
  return { ...found, USERPROFILE: home, APPDATA: join(home, 'AppData'), LOCALAPPDATA: join(home, 'LocalAppData') };
}

/** @param {string} text */
const say = (text) => process.stdout.write(`${text}\n`);

/** @param {string} command @param {string[]} args @returns {Promise<number>} */
const run = (command, args) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: project, env, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });

/** @param {string[]} args */
const spool = (...args) => {
  say(`\n$ spool ${args.map((arg) => (arg.includes(' ') ? `"${arg}"` : arg)).join(' ')}`);
  return run(process.execPath, [join(root, 'dist', 'spool.cjs'), ...args]);
};

/** @param {string[]} args */
const show = (...args) => {
  say(`\n$ ${args.join(' ')}`);
  return run(/** @type {string} */ (args[0]), args.slice(1));
};

const makeSampleProject = async () => {
  for (const [name, text] of Object.entries(sampleFiles)) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
  }
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Spool demo\n\temail = demo@example.com\n');
  await run('git', ['init', '--quiet', '--initial-branch', 'main']);
  await run('git', ['add', '--all']);
  await run('git', ['commit', '--quiet', '-m', 'A project with a change to be made']);
};

// Ctrl-C goes to the loop, which ends its agent; then it is our turn to tidy up.
process.on('SIGINT', () => {});
try {
  await makeSampleProject();
  say(`A sample project in ${project}, the real OpenCode, and a scripted model: no account, no key.`);
  const code = await spool('ralph', 'Keep it small and simple.', '--change', change, '--model', 'scripted/model');
  if (code === 0) {
    await spool('ralph', '--status', '--change', change);
    await spool('list');
    await show('git', '--no-pager', 'log', '--stat', '--format=%h %s');
    await show('node', 'src/greet.js', 'Ada', 'fr');
    say(`
The project is in ${project}; look around, then delete it.
Where to go next: the README shows how to install Spool and run the first loop on a project of your own.`);
  }
  process.exitCode = code;
} finally {
  await model.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
