// Prompts one process of an agent many times, in a session of Spool that never restarts it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';
import { root } from './places.mjs';

/**
 * @typedef {object} Sessions
 * @property {string} base @property {string} cwd @property {NodeJS.ProcessEnv} env
 * @property {string} name of the agent @property {string} model @property {number} sessions
 */

/** Throws if a session fails or if the process does not stay. @param {Sessions} of */
export const promptOneProcess = async ({ base, cwd, env, name, model, sessions }) => {
  const { openSession, findHarness, recycleLimits, createRedactor } = await loadSources(join(base, 'built'));
  for (const limit of Object.keys(recycleLimits)) recycleLimits[limit] = Infinity;
  recycleLimits.idleMs = 3_600_000;
  const never = new AbortController().signal;
  const tag = `sessions-${process.pid}`;
  /** @param {string} text */
  const onNotice = (text) => {
    throw new Error(text);
  };
  const session = openSession(findHarness(name, []), {
    cwd,
    env,
    stopGraceMs: 5000,
    stopSignals: { stop: never, kill: never },
    redactor: createRedactor(env),
    sandbox: null,
    rules: { allow: [], deny: [] },
    mode: 'warm',
    tag,
    onNotice,
  });
  try {
    for (let number = 1; number <= sessions; number++) {
      const prompt = `# Ralph Wiggum Loop - Iteration ${number}\n\nGo.\n`;
      const promptFile = join(base, 'prompt.md');
      writeFileSync(promptFile, prompt);
      const turn = {
        job: { model, allowAll: true, prompt, promptFile, title: 'sessions' },
        tag: `${tag}/${number}`,
        logFile: join(base, 'log'),
        deadlines: { iterationMs: 120_000, idleMs: Infinity, leftMs: Infinity, untilMs: Infinity },
      };
      const { end } = await session.prompt(turn, { onEvent: () => null });
      if (end !== 'answered') throw new Error(`session ${number} has ended: ${end}`);
    }
  } finally {
    await session.close();
  }
};

/** The sessions with agents are not part of the library. @param {string} folder @returns {Promise<any>} */
const loadSources = async (folder) => {
  mkdirSync(folder);
  const entry = join(folder, 'entry.ts');
  const sources = ['harness/open-session', 'harness/registry', 'harness/acp/recycle', 'secrets/redact'];
  writeFileSync(entry, sources.map((name) => `export * from '${join(root, 'src', name)}.ts';\n`).join(''));
  const file = 'sources.mjs';
  const transform = { define: { SPOOL_VERSION: '"0.0.0"' } };
  await build({
    input: entry,
    platform: 'node',
    transform,
    output: { dir: folder, entryFileNames: file, format: 'esm' },
  });
  return import(pathToFileURL(join(folder, file)).href);
};
