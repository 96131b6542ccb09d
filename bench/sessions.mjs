// node bench/sessions.mjs [agent] [sessions] [--one-process]: prompts a real agent that many times, warm, with the scripted
// model and a tool call in each session, and prints the memory and the descriptors of the agent in each. The sessions are
// the iterations of one run, which restarts the agent after 20; with --one-process they are sessions of one process.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agentBin } from '../scripts/agents.mjs';
import { agents } from '../test/model/agents.mjs';
import { startModel } from '../test/model/server.mjs';
import { agentProcesses, descriptorsOf, memoryOf } from './agent-processes.mjs';
import { promptOneProcess } from './one-process.mjs';
import { change, makeProject, makeRepository, spoolProgram } from './places.mjs';

/** @typedef {{ session: number, process: number, memoryMb: number, descriptors: number }} Sample */

/**
 * A sample is taken when the model gets the result of the tool: the agent works, and no tool runs. Not when it is first
 * asked: a process of the session before may still be ending then, and some agents ask again for a title later.
 * @param {string} base a new folder @param {number} sessions @param {string} name @returns {Promise<Sample[]>}
 */
export const measureSessions = async (base, sessions, name = 'opencode', isOneProcess = false) => {
  const place = makeProject(base, 'sessions');
  makeRepository(place, 1);
  /** @type {Map<number, Sample>} */
  const samples = new Map();
  /** @param {number} session */
  const sample = (session) => {
    const pids = agentProcesses(base);
    const [first = 0] = pids;
    samples.set(session, { session, process: first, memoryMb: memoryOf(pids), descriptors: descriptorsOf(pids) });
  };
  const model = await startModel({
    script: ({ iteration, step }) => {
      if (step === 0) return { text: 'I work.', tools: [{ shell: `echo ${iteration} >> work.txt` }] };
      if (!samples.has(iteration)) sample(iteration);
      return { text: 'There is more to do.' };
    },
  });
  const agent = agents[name];
  if (!agent) throw new Error(`no agent ${name}`);
  const env = {
    ...place.env,
    ...agent.prepare(base, model.url),
    PATH: `${agentBin(name)}:${process.env.PATH}`,
  };
  if (isOneProcess) await promptOneProcess({ base, cwd: place.folder, env, name, model: agent.model, sessions });
  else await runIterations({ cwd: place.folder, env, name, model: agent.model, sessions });
  await model.close();
  return [...samples.values()].toSorted((a, b) => a.session - b.session);
};

/** @param {Omit<import('./one-process.mjs').Sessions, 'base'>} of */
const runIterations = async ({ cwd, env, name, model, sessions }) => {
  const args = ['ralph', '--change', change, '--harness', name, '--model', model];
  const more = ['--allow-all', '--agent-mode', 'warm', '--no-stream', '--max-iterations', String(sessions)];
  const child = spawn(process.execPath, [spoolProgram, ...args, ...more], { cwd, env, stdio: 'ignore' });
  await new Promise((resolve) => child.on('exit', resolve));
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isOneProcess = process.argv.includes('--one-process');
  const [name = 'opencode', sessions = '30'] = process.argv.slice(2).filter((each) => !each.startsWith('--'));
  const base = mkdtempSync(join(tmpdir(), 'spool-sessions-'));
  try {
    const samples = await measureSessions(base, Number(sessions), name, isOneProcess);
    for (const { session, process: pid, memoryMb, descriptors } of samples)
      process.stdout.write(`${session}\tprocess ${pid}\t${Math.round(memoryMb)} MB\t${descriptors} descriptors\n`);
  } finally {
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }
}
