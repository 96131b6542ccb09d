import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AgentMode } from '../../src/harness/agent-mode.ts';
import { createProcesses, type Lifetime } from '../../src/harness/acp/processes.ts';
import { recycleLimits } from '../../src/harness/acp/recycle.ts';
import { createAcpDecoder } from '../../src/harness/acp/decoder.ts';
import type { Harness } from '../../src/harness/harness.ts';
import { createRedactor } from '../../src/secrets/redact.ts';
import { processesWith } from '../support/processes.ts';

const fixture = join(import.meta.dirname, '../fixtures/acp-agent.mjs');

const harness: Harness = {
  name: 'scripted',
  title: 'Scripted',
  install: '',
  launch: { binary: process.execPath, args: () => [] },
  output: { decoder: createAcpDecoder },
  acp: {
    only: true,
    defaultMode: 'warm',
    start: () => ({ args: [fixture] }),
    readAtStart: () => ['AGENTS.md'],
  },
  capabilities: [],
};

const deadlines = { idleMs: Infinity, iterationMs: Infinity, leftMs: Infinity, untilMs: Infinity };
const job = { model: null, allowAll: false, prompt: '', promptFile: '', title: '' };

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'spool-processes-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** The processes of the scripted agent, and what the user is told about them. */
const open = (mode: AgentMode, lifetime: Partial<Lifetime> = {}, boots: readonly string[] = ['ok']) => {
  writeFileSync(join(home, 'acp.json'), JSON.stringify({ boots }));
  const notices: string[] = [];
  const scope = {
    cwd: home,
    env: { HOME: home, PATH: process.env.PATH },
    stopGraceMs: 5000,
    stopSignals: { stop: new AbortController().signal, kill: new AbortController().signal },
    redactor: createRedactor({}),
    sandbox: null,
    rules: { allow: [], deny: [] },
    mode,
    tag: `run/${mode}`,
    onNotice: (text: string) => notices.push(text),
  };
  const processes = createProcesses(harness, scope, {
    limits: recycleLimits,
    now: () => performance.now(),
    ...lifetime,
  });
  const ready = async () => {
    const held = await processes.ready(process.execPath, { job, deadlines });
    if ('why' in held) throw new Error(held.why);
    return held.agent;
  };
  const turn = async () => {
    const agent = await ready();
    await processes.done(true);
    return agent.pid;
  };
  return { ...processes, notices, start: ready, turn };
};

describe.runIf(process.platform === 'linux')('the process of a warm agent', () => {
  test('is the same for all turns', async () => {
    const agent = open('warm');
    const pids = [await agent.turn(), await agent.turn(), await agent.turn()];
    await agent.close();
    expect(new Set(pids)).toHaveProperty('size', 1);
    expect(agent.notices).toEqual([]);
    expect(processesWith(`HOME=${home}`)).toEqual([]);
  });

  test.each<[string, Partial<typeof recycleLimits>, number, string]>([
    ['iterations', { iterations: 1 }, 6000, 'it has run 1 iterations'],
    ['memory', { memoryBytes: 1 }, 6000, 'it uses \\d+ MB of memory'],
    ['growth', { memoryFactor: 0, memoryFloorBytes: 1 }, 6000, String.raw`it uses \d+ MB of memory, up from \d+ MB`],
    ['age', { ageMs: 5000 }, 6000, 'it has been running for 6s'],
    // The limit is also that of a real timer, which must not end the agent first.
    ['idle time', { idleMs: 3_600_000, ageMs: Infinity }, 3_600_001, 'it was idle for 1h'],
  ])('ends at a limit: %s', async (_, limits, idleMs, why) => {
    let now = 0;
    const agent = open('warm', { limits: { ...recycleLimits, ...limits }, now: () => now });

    const first = await agent.turn();
    now += idleMs;
    const second = await agent.turn();
    await agent.close();

    expect(second).not.toBe(first);
    expect(agent.notices).toEqual([expect.stringMatching(new RegExp(`^Scripted is restarted: ${why}\\.$`))]);
    expect(processesWith(`HOME=${home}`)).toEqual([]);
  });

  test('ends by itself when it is not used', async () => {
    const agent = open('warm', { limits: { ...recycleLimits, idleMs: 1 } });
    const { exited } = await agent.start();
    await agent.done(true);

    expect(await exited).toMatchObject({ exitCode: 0 });
    expect(await agent.exitedIdle()).toBeNull();
    await agent.turn();
    await agent.close();
    expect(agent.notices).toEqual([]);
  });

  test('ends after a turn that was not healthy', async () => {
    const agent = open('warm');
    const { pid, hasExited } = await agent.start();
    await agent.done(false);
    expect(hasExited()).toBe(true);
    expect(await agent.turn()).not.toBe(pid);
    await agent.close();
  });

  test('is known to have exited by itself', async () => {
    const agent = open('warm');
    const { pid, exited } = await agent.start();
    await agent.done(true);
    process.kill(pid, 'SIGKILL');
    await exited;

    expect(await agent.exitedIdle()).toMatchObject({ end: 'killed', signal: 'SIGKILL' });
    expect(await agent.exitedIdle()).toBeNull();
    await agent.close();
  });
});

describe.runIf(process.platform === 'linux')('the process of a standby agent', () => {
  test('is not waited for when the mode is given up', async () => {
    const agent = open('standby', {}, ['ok', 'silent', 'ok']);
    await agent.start();
    await agent.becomeCold();
    expect(agent.isCold()).toBe(true);
    expect(processesWith(`HOME=${home}`)).toEqual([]);
  }, 30_000);

  test('does not count as one that has seen what changed while it started', async () => {
    const agent = open('standby', {}, ['ok', 'slow', 'ok']);
    await agent.start();
    appendFileSync(join(home, 'AGENTS.md'), 'Be kind.\n');
    await agent.done(true);
    await agent.start();
    await agent.close();
    expect(agent.notices).toEqual(['Scripted is restarted: its instructions or configuration changed.']);
  });
});
