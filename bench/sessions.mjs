// node bench/sessions.mjs [agent] [sessions]: runs that many iterations of a real agent in one run, warm, with the
// scripted model and a tool call in each, and prints the memory and the descriptors of the agent in each.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agentBin } from '../scripts/agents.mjs';
import { agents } from '../test/model/agents.mjs';
import { startModel } from '../test/model/server.mjs';
import { agentProcesses, descriptorsOf, memoryOf } from './agent-processes.mjs';
import { change, makeProject, makeRepository, spoolProgram } from './places.mjs';

/** @typedef {{ session: number, process: number, memoryMb: number, descriptors: number }} Sample */

/**
 * Each sample is taken when the model is asked for the first time in a session: the agent is ready, and no tool runs.
 * @param {string} base a new folder @param {number} sessions @param {string} name @returns {Promise<Sample[]>}
 */
export const measureSessions = async (base, sessions, name = 'opencode') => {
  const place = makeProject(base, 'sessions');
  makeRepository(place, 1);
  /** @type {Sample[]} */
  const samples = [];
  const model = await startModel({
    script: ({ iteration, step }) => {
      if (step > 0) return { text: 'There is more to do.' };
      const pids = agentProcesses(base);
      const [first = 0] = pids;
      samples.push({ session: iteration, process: first, memoryMb: memoryOf(pids), descriptors: descriptorsOf(pids) });
      return { text: 'I work.', tools: [{ shell: `echo ${iteration} >> work.txt` }] };
    },
  });
  const agent = agents[name];
  if (!agent) throw new Error(`no agent ${name}`);
  const env = {
    ...place.env,
    ...agent.prepare(base, model.url),
    PATH: `${agentBin(name)}:${process.env.PATH}`,
  };
  const args = ['ralph', '--change', change, '--harness', name, '--model', agent.model];
  const more = ['--allow-all', '--agent-mode', 'warm', '--no-stream', '--max-iterations', String(sessions)];
  const child = spawn(process.execPath, [spoolProgram, ...args, ...more], {
    cwd: place.folder,
    env,
    stdio: 'ignore',
  });
  await new Promise((resolve) => child.on('exit', resolve));
  await model.close();
  return samples;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name = 'opencode', sessions = '30'] = process.argv.slice(2);
  const base = mkdtempSync(join(tmpdir(), 'spool-sessions-'));
  try {
    for (const { session, process: pid, memoryMb, descriptors } of await measureSessions(base, Number(sessions), name))
      process.stdout.write(`${session}\tprocess ${pid}\t${Math.round(memoryMb)} MB\t${descriptors} descriptors\n`);
  } finally {
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }
}
