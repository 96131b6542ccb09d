// The least that a loop in Node takes whose records survive a crash: it starts the agent, and writes the prompt, the log,
// two entries of a journal, a line of history and the state, with the two fsyncs that Spool makes as well.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { appendFileSync, closeSync, fsyncSync, openSync, renameSync, writeFileSync, writeSync } = require('node:fs');

const [count = '1', folder = '', then = ''] = process.argv.slice(2);
const prompt = 'Go.\n'.repeat(500);
const entry = `${JSON.stringify({ text: 'x'.repeat(500) })}\n`;

/** @param {string} path @param {'a' | 'w'} flags @param {string} text */
const writeDurably = (path, flags, text) => {
  const file = openSync(path, flags);
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
};

/** @param {number} iteration */
const iterate = async (iteration) => {
  writeFileSync(`${folder}/${iteration}.prompt.md`, prompt);
  appendFileSync(`${folder}/events.jsonl`, entry);
  const log = openSync(`${folder}/${iteration}.log`, 'w');
  const agent = spawn('opencode', ['run'], { stdio: 'pipe', detached: true });
  for (const stream of [agent.stdout, agent.stderr]) stream.on('data', (chunk) => writeSync(log, chunk));
  agent.stdin.on('error', () => {});
  agent.stdin.end(prompt);
  await once(agent, 'close');
  closeSync(log);
  if (then !== '')
    await once(
      spawn('/bin/sh', ['-c', then], { stdio: 'ignore', env: { ...process.env, i: `${iteration}` } }),
      'close',
    );
  writeDurably(`${folder}/history.jsonl`, 'a', entry);
  appendFileSync(`${folder}/events.jsonl`, entry);
  writeDurably(`${folder}/state.draft`, 'w', entry.repeat(4));
  renameSync(`${folder}/state.draft`, `${folder}/state.json`);
};

const main = async () => {
  for (let iteration = 1; iteration <= Number(count); iteration++) await iterate(iteration);
};
void main();
