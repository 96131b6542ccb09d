// The agent in the examples of the docs. It prints what OpenCode prints, and does what $HOME/agent.json says: for each
// change a list of iterations, each a list of steps.
import { execSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * @typedef {{ say: string } | { run: string } | { write: string, text: string } | { tick: string, in?: string } | { denied: string } | { fail: string } | { takes: number } | { untilExists: string }} Step
 * @typedef {Record<string, Step[][]>} Assignment
 */

const home = process.env.HOME ?? '';
const version = '1.18.33';

/** @param {object} event */
const print = (event) => process.stdout.write(`${JSON.stringify({ ...event, sessionID: 'ses_example' })}\n`);

/** @param {string} tool @param {string} title @param {object} input */
const printTool = (tool, title, input) =>
  print({ type: 'tool_use', part: { type: 'tool', tool, state: { status: 'completed', input, title } } });

/** @param {string} name @param {(text: string) => string} edit */
const edit = (name, edit) => {
  mkdirSync(dirname(name), { recursive: true });
  writeFileSync(name, edit(existsSync(name) ? readFileSync(name, 'utf8') : ''));
};

/** Returns false if the agent has failed. @param {Step} step @param {string} change */
const follow = async (step, change) => {
  if ('say' in step) return print({ type: 'text', part: { type: 'text', text: step.say } });
  if ('run' in step) {
    try {
      execSync(step.run, { stdio: 'ignore' });
    } catch {
      // Its output is what the agent would read.
    }
    return printTool('bash', step.run, { command: step.run });
  }
  if ('write' in step) {
    edit(step.write, () => step.text);
    return printTool('write', step.write, { filePath: step.write });
  }
  if ('tick' in step) {
    const tasks = step.in ?? `.spool/changes/${change}/tasks.md`;
    edit(tasks, (text) =>
      text
        .replace(`- [ ] ${step.tick}`, `- [x] ${step.tick}`)
        .replace(`### ${step.tick}\n\n- **Status**: [ ] pending`, `### ${step.tick}\n\n- **Status**: [x] complete`),
    );
    return printTool('edit', tasks, { filePath: tasks });
  }
  if ('denied' in step) {
    const error = 'The user rejected permission to use this specific tool call.';
    process.stderr.write(`! permission requested: bash (${step.denied}); auto-rejecting\n`);
    const state = { status: 'error', input: { command: step.denied }, error };
    print({ type: 'tool_use', part: { type: 'tool', tool: 'bash', state } });
    // OpenCode ends here, with code 0.
    return false;
  }
  if ('fail' in step) {
    print({ type: 'error', error: { name: 'APIError', data: { message: step.fail, statusCode: 500 } } });
    process.exitCode = 1;
    return false;
  }
  if ('takes' in step) return delay(step.takes);
  while (!existsSync(join(home, step.untilExists))) await delay(50);
};

/** How often the agent was called for the change, this time included. @param {string} change */
const countCall = (change) => {
  const file = join(home, `calls-${change}`);
  const calls = existsSync(file) ? Number(readFileSync(file, 'utf8')) + 1 : 1;
  writeFileSync(file, String(calls));
  return calls;
};

const main = async () => {
  if (process.argv.includes('--version')) return process.stdout.write(`${version}\n`);
  const prompt = readFileSync(0, 'utf8');
  /** @type {Assignment} */
  const assignment = JSON.parse(readFileSync(join(home, 'agent.json'), 'utf8'));
  const named = /## Change Proposal \(([^)]+)\)/.exec(prompt)?.[1] ?? '';
  const change = named in assignment ? named : (/\d{3}-\d{2}_[a-z0-9-]+/.exec(prompt)?.[0] ?? '');
  const iterations = assignment[change] ?? assignment['*'] ?? [];
  const steps = iterations[countCall(change) - 1] ?? [{ say: 'Nothing is left to do.\n\n<promise>COMPLETE</promise>' }];
  print({ type: 'step_start', part: { type: 'step-start' } });
  for (const step of steps) if ((await follow(step, change)) === false) return;
  const tokens = { input: 5400 + 310 * steps.length, output: 240 + 90 * steps.length, reasoning: 0 };
  const cost = 0.004 + 0.0011 * steps.length;
  print({ type: 'step_finish', part: { type: 'step-finish', reason: 'stop', tokens: { ...tokens, cache: {} }, cost } });
};

await main();
