// A real loop to watch: the real OpenCode, a scripted model on loopback, a sample project in a temporary folder.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDemo } from './demo-project.mjs';
import { change, demoLoop } from './demo-script.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {string} text */
const say = (text) => process.stdout.write(`${text}\n`);

/** @param {{ folder: string, env: NodeJS.ProcessEnv }} demo */
const show = async ({ folder, env }) => {
  /** @param {string} command @param {string[]} args @returns {Promise<number>} */
  const run = (command, args) =>
    new Promise((resolve, reject) => {
      const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'inherit', 'inherit'] });
      child.on('error', reject);
      child.on('close', (code) => resolve(code ?? 1));
    });
  /** @param {string} command @param {string[]} args */
  const type = (command, ...args) => {
    say(`\n$ ${[command, ...args].map((arg) => (arg.includes(' ') ? `"${arg}"` : arg)).join(' ')}`);
    return command === 'spool' ? run(process.execPath, [join(root, 'dist', 'spool.cjs'), ...args]) : run(command, args);
  };

  say(`A sample project in ${folder}\nThe real OpenCode with a scripted model: no account, no key.`);
  // Flags such as --agent-mode can follow: npm run demo -- --agent-mode cold
  const code = await type('spool', ...demoLoop, ...process.argv.slice(2));
  if (code !== 0) return code;
  await type('spool', 'logs', change, '2');
  await type('spool', 'list');
  await type('git', '--no-pager', 'log', '--stat', '--format=%h %s');
  await type('node', 'src/greet.js', 'Ada', 'fr');
  say(`
The project stays in ${folder}: look around, then delete it.
Next: the README shows how to run a loop on a project of your own.`);
  return code;
};

// Ctrl-C goes to the loop, which stops its agent; the demo then cleans up.
process.on('SIGINT', () => {});
const demo = await openDemo({ pauseMs: 15 });
try {
  process.exitCode = await show(demo);
} finally {
  await demo.close();
}
