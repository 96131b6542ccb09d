import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { endLeftOver, endProcesses, takeBaseline } from '../../src/process/left-over.ts';
import { memoryOf } from '../../src/process/memory.ts';
import { processStart } from '../../src/process/start-time.ts';
import { tagVariable } from '../../src/process/tree.ts';
import { eventually } from '../support/eventually.ts';
import { killProcessesWith } from '../support/processes.ts';

const fixture = fileURLToPath(new URL('../fixtures/warm-agent.cjs', import.meta.url));
const agents: WarmAgent[] = [];

interface StartOptions {
  readonly detached?: boolean;
  /** The agent talks to it by pipes, as to a server. Otherwise it has no input. */
  readonly pipes?: boolean;
}

interface WarmAgent {
  readonly pid: number;
  readonly tag: string;
  /** Starts a program, as a tool or a server of the agent. Resolves to the ID that it prints with this name. */
  start(name: string, args: readonly string[], options?: StartOptions): Promise<number>;
  stop(): void;
}

const startAgent = async (): Promise<WarmAgent> => {
  const tag = `left-over-${randomUUID()}/warm-1`;
  const child = spawn(process.execPath, [fixture], {
    env: { ...process.env, [tagVariable]: tag },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  const pids = new Map<string, number>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [name = '', pid] = line.split(' ');
    pids.set(name, Number(pid));
  });
  await eventually(() => pids.has('agent'), 'the agent to start');
  const agent: WarmAgent = {
    pid: child.pid!,
    tag,
    start: async (name, args, { detached = false, pipes = false } = {}) => {
      child.stdin.write(`${JSON.stringify({ args, detached, pipes })}\n`);
      await eventually(() => pids.has(name), `${name} to start`);
      return pids.get(name)!;
    },
    stop: () => {
      for (const pid of pids.values()) if (processStart(pid) !== null) process.kill(pid, 'SIGKILL');
      killProcessesWith(`${tagVariable}=${tag}`);
    },
  };
  agents.push(agent);
  return agent;
};

afterEach(() => {
  for (const agent of agents.splice(0)) agent.stop();
});

const isRunning = (pid: number) => processStart(pid) !== null;

/** A tool, which agents start with a shell in a new session. */
const tool = (script: string) => ['sh', '-c', script];
const server = (name: string) => [
  process.execPath,
  '-e',
  `console.log(${JSON.stringify(name)}, process.pid); setInterval(() => {}, 1000)`,
];

describe.runIf(process.platform === 'linux')('what a turn leaves running is ended', () => {
  const tools: Record<string, string> = {
    'a daemon with a new session': 'setsid sh -c "echo left \\$\\$; exec sleep 1000" &',
    'a process whose parents are gone': '(sh -c "echo left \\$\\$; exec sleep 1000" &) &',
    'a process under another name': `(setsid ${process.execPath} -e 'process.title = "kworker"; console.log("left", process.pid); setInterval(() => {}, 1000)' &)`,
    'a process that ignores SIGTERM':
      '(setsid sh -c "trap \'\' TERM; echo left \\$\\$; while :; do sleep 0.1; done" &)',
    'a process that starts another while it is ended':
      '(setsid sh -c "trap \'setsid sleep 1000 & setsid sleep 1000 &\' TERM; echo left \\$\\$; while :; do sleep 0.1; done" &)',
    'a process without the tag, in a shell': 'env -i sh -c "echo left \\$\\$; exec sleep 1000"; true',
    'a process without the tag that ignores SIGTERM, in a shell':
      'env -i sh -c "trap \'\' TERM; echo left \\$\\$; while :; do sleep 0.1; done"; true',
    'the tool itself': 'echo left $$; while :; do sleep 0.1; done',
  };

  test.each(Object.entries(tools))('%s', async (_, script) => {
    const agent = await startAgent();
    const own = await agent.start('server', server('server'));
    const baseline = takeBaseline(agent.tag);
    const left = await agent.start('left', tool(script), { detached: true });

    const { ended, kept } = await endLeftOver(agent.tag, baseline, 200);

    expect(ended).toBeGreaterThan(0);
    expect(kept).toEqual([]);
    expect(isRunning(left)).toBe(false);
    expect(isRunning(own)).toBe(true);
    expect(isRunning(agent.pid)).toBe(true);
    // Nothing else is left, including what was started in the meantime.
    expect([...takeBaseline(agent.tag).processes.keys()].toSorted()).toEqual([agent.pid, own].toSorted());
    expect(await endLeftOver(agent.tag, baseline)).toEqual({ ended: 0, kept: [], mayHaveServed: false });
  });

  test('a tool that replaced its shell', async () => {
    const agent = await startAgent();
    const baseline = takeBaseline(agent.tag);
    const left = await agent.start('left', server('left'), { detached: true });

    expect(await endLeftOver(agent.tag, baseline)).toEqual({ ended: 1, kept: [], mayHaveServed: false });
    expect(isRunning(left)).toBe(false);
  });
});

describe.runIf(process.platform === 'linux')('a shell that the agent started', () => {
  const serving = `'${process.execPath}' -e 'console.log("left", process.pid); setInterval(() => {}, 1000)'; true`;

  test.each<[string, string, { detached?: boolean; pipes?: boolean }, boolean]>([
    ['with pipes is ended, and may have been a server', serving, { pipes: true }, true],
    ['with a session of its own is a tool', serving, { pipes: true, detached: true }, false],
    ['without an input is a tool', serving, {}, false],
    [
      'that is gone is a tool',
      `(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; ${serving}) &`,
      { pipes: true },
      false,
    ],
  ])('%s', async (_, script, options, mayHaveServed) => {
    const agent = await startAgent();
    const baseline = takeBaseline(agent.tag);
    const left = await agent.start('left', tool(script), options);

    expect(await endLeftOver(agent.tag, baseline)).toMatchObject({ kept: [], mayHaveServed });
    expect(isRunning(left)).toBe(false);
    expect([...takeBaseline(agent.tag).processes.keys()]).toEqual([agent.pid]);
  });
});

describe.runIf(process.platform === 'linux')('helpers of the agent survive', () => {
  test('servers that the first turn starts, with what they start by a shell', async () => {
    const agent = await startAgent();
    const baseline = takeBaseline(agent.tag);
    // As npx does: a program that runs the server in a shell.
    const launcher = `console.log('npx', process.pid); require('node:child_process').spawn('sh', ['-c', 'echo inner $$; sleep 1000; true'], { stdio: 'inherit' })`;
    const npx = await agent.start('npx', [process.execPath, '-e', launcher]);
    const inner = await agent.start('inner', ['true']);
    const left = await agent.start('left', tool('(sleep 1000 & echo left $!)'), { detached: true });

    const { kept } = await endLeftOver(agent.tag, baseline);

    expect(isRunning(left)).toBe(false);
    expect([npx, inner].every(isRunning)).toBe(true);
    expect(kept).toEqual(expect.arrayContaining([npx, inner]));
    // They belong to the next turn's baseline.
    const next = takeBaseline(agent.tag);
    expect(await endLeftOver(agent.tag, next)).toEqual({ ended: 0, kept: [], mayHaveServed: false });
  });

  test('a process of the baseline whose ID was reused is not spared', async () => {
    const agent = await startAgent();
    const left = await agent.start('left', tool('(setsid sh -c "echo left \\$\\$; exec sleep 1000" &)'));
    const { processes } = takeBaseline(agent.tag);
    const stale = new Map(processes).set(left, 'an earlier start');

    expect(isRunning(left)).toBe(true);
    await endLeftOver(agent.tag, { processes: stale });

    expect(isRunning(left)).toBe(false);
    expect(isRunning(agent.pid)).toBe(true);
  });

  test('what is noted is ended when the agent is gone, unless its ID was reused', async () => {
    const agent = await startAgent();
    const script = 'setsid env -i sh -c "echo left \\$\\$; sleep 1000; true"; true';
    const left = await agent.start('left', tool(script), { detached: true });
    const { processes } = takeBaseline(agent.tag);
    process.kill(agent.pid, 'SIGKILL');
    await eventually(() => !isRunning(agent.pid), 'the agent to exit');

    expect(processes.has(left)).toBe(true);
    expect(await endProcesses({ processes: new Map([[left, 'an earlier start']]) })).toBe(0);
    expect(isRunning(left)).toBe(true);
    expect(await endProcesses({ processes })).toBeGreaterThan(1);
    expect([...processes.keys()].filter(isRunning)).toEqual([]);
  });

  test('processes of another tag are never touched', async () => {
    const [one, other] = [await startAgent(), await startAgent()];
    const baseline = takeBaseline(one.tag);
    const foreign = await other.start('left', tool('(setsid sh -c "echo left \\$\\$; exec sleep 1000" &)'));

    expect(await endLeftOver(one.tag, baseline)).toEqual({ ended: 0, kept: [], mayHaveServed: false });
    expect(isRunning(foreign)).toBe(true);
  });
});

test.runIf(process.platform !== 'win32')('the memory of an agent includes what it started', async () => {
  const agent = await startAgent();
  const before = memoryOf(agent.pid)!;
  await agent.start('server', server('server'));
  const after = memoryOf(agent.pid)!;

  const megabyte = 1024 * 1024;
  expect(before).toBeGreaterThan(5 * megabyte);
  expect(after - before).toBeGreaterThan(5 * megabyte);
  expect(memoryOf(2 ** 30)).toBe(null);
});
