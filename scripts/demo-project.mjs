// The project of the demo in a temporary folder, with the real OpenCode and a scripted model on loopback.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agents } from '../test/model/agents.mjs';
import { startModel } from '../test/model/server.mjs';
import { demoScript, sampleFiles } from './demo-script.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {{ pauseMs: number }} options how long the model waits between words */
export const openDemo = async ({ pauseMs }) => {
  const folder = mkdtempSync(join(tmpdir(), 'spool-demo-'));
  const home = mkdtempSync(join(tmpdir(), 'spool-demo-home-'));
  const model = await startModel({ script: demoScript(folder), pauseMs });
  /** Nothing of the user's own settings and keys reaches the agent. @type {Record<string, string>} */
  const env = {
    PATH: [join(root, 'node_modules', '.bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: home,
    ...onWindows(home),
    LANG: process.env.LANG ?? 'C.UTF-8',
    TERM: process.env.TERM ?? 'dumb',
    ...(process.env.NO_COLOR ? { NO_COLOR: process.env.NO_COLOR } : {}),
    ...agents.opencode?.prepare(home, model.url),
  };
  for (const [name, text] of Object.entries(sampleFiles)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Spool demo\n\temail = demo@example.com\n');
  for (const args of [
    ['init', '--quiet', '--initial-branch', 'main'],
    ['add', '--all'],
    ['commit', '--quiet', '-m', 'A project with a change'],
  ])
    execFileSync('git', args, { cwd: folder, env, stdio: ['ignore', 'inherit', 'inherit'] });
  return {
    folder,
    env,
    /** Ends the model. The project stays. */
    close: async () => {
      await model.close();
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
};

/** What no program on Windows starts without, and what it takes for HOME. @param {string} home */
const onWindows = (home) => {
  if (process.platform !== 'win32') return {};
  const needed = ['SystemRoot', 'SystemDrive', 'ComSpec', 'PATHEXT', 'TEMP', 'TMP'];
  const found = Object.fromEntries(needed.map((name) => [name, process.env[name] ?? '']));
  return { ...found, USERPROFILE: home, APPDATA: join(home, 'AppData'), LOCALAPPDATA: join(home, 'LocalAppData') };
};
