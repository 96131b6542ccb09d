// node bench/modes.mjs <folder> <iterations>: runs the real OpenCode with the scripted model, cold and warm, and prints
// how long the iterations took and how much memory the agent used. The first iteration of a run does not count.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentBin } from '../scripts/agents.mjs';
import { agents } from '../test/model/agents.mjs';
import { startModel } from '../test/model/server.mjs';
import { agentProcesses, memoryOf } from './agent-processes.mjs';
import { change, makeProject, makeRepository, spoolProgram } from './places.mjs';

/** @typedef {{ times: number[], memoryMb: number }} Measured */

/**
 * @param {string} base @param {string} mode @param {number} iterations
 * @returns {Promise<Measured>}
 */
const measure = async (base, mode, iterations) => {
  const place = makeProject(base, mode);
  makeRepository(place, 1);
  const model = await startModel({ script: () => ({ text: 'There is more to do.' }) });
  const { opencode } = agents;
  if (!opencode) throw new Error('no OpenCode');
  const env = {
    ...place.env,
    ...opencode.prepare(base, model.url),
    PATH: `${agentBin('opencode')}:${process.env.PATH}`,
  };
  const args = ['ralph', '--change', change, '--model', opencode.model, '--agent-mode', mode, '--no-stream'];
  const limits = ['--max-iterations', String(iterations + 1), '--max-stalled', 'unlimited'];
  const child = spawn(process.execPath, [spoolProgram, ...args, ...limits], {
    cwd: place.folder,
    env,
    stdio: 'ignore',
  });
  let memoryMb = 0;
  const timer = setInterval(() => (memoryMb = Math.max(memoryMb, memoryOf(agentProcesses(base)))), 500);
  await new Promise((resolve) => child.on('exit', resolve));
  clearInterval(timer);
  await model.close();
  const history = readFileSync(join(place.folder, '.spool', '.state', 'ralph', change, 'history.jsonl'), 'utf8');
  const records = history
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const wanted = mode === 'cold' ? 'exited' : 'answered';
  const wrong = records.find(({ end, error }) => end !== wanted || error !== null);
  if (wrong) throw new Error(`OpenCode in ${mode} mode: ${JSON.stringify(wrong.error ?? wrong.end)}`);
  return { times: records.slice(1).map(({ durationMs }) => durationMs), memoryMb };
};

const [base = '', iterations = '3'] = process.argv.slice(2);
const cold = await measure(base, 'cold', Number(iterations));
const warm = await measure(base, 'warm', Number(iterations));
process.stdout.write(JSON.stringify({ cold, warm }));
