import { createHash } from 'node:crypto';
import { chmodSync, cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { promise, says } from '../support/agents.ts';
import { type Format, mutate, type Mutation, mutationsOf } from '../support/mutations.ts';
import { change, createProject, type Result, type TestProject } from '../support/project.ts';
import { report } from '../support/trials.ts';

/** Enough to find something now and then. FUZZ_RUNS sets another number. */
const runs = Number(process.env.FUZZ_RUNS ?? 45);
/** The path of a case that an earlier run printed. */
const path = process.env.FUZZ_PATH;

/** For all cases. On a slower machine not all of them are tried, which is a failure. */
const maxMs = Math.max(400_000, runs * 9000);

/** A command that takes this long hangs, however busy the machine is. */
const hangsMs = 20_000;
/** How much longer a command may take than three times the time with valid files. */
const slackMs = 1000;
/** A command that is slow this often in a row is slow itself, not because of a busy machine. */
const maxTries = 3;

const line = (event: object) => JSON.stringify(event);
const done = 'Done.\n\n<promise>COMPLETE</promise>';

/** Output of agents, in the formats that Spool reads. */
const outputs = {
  opencode: [
    line({ type: 'step_start', part: {} }),
    line({
      type: 'tool_use',
      part: { tool: 'bash', state: { status: 'completed', title: 'npm test', input: { command: 'npm test' } } },
    }),
    line({ type: 'text', part: { text: done } }),
    line({
      type: 'step_finish',
      part: { reason: 'stop', cost: 0.1, tokens: { input: 10, output: 5, reasoning: 1, cache: { read: 1, write: 1 } } },
    }),
    '',
  ].join('\n'),
  claude: [
    line({ type: 'system', subtype: 'init', model: 'claude' }),
    line({
      type: 'assistant',
      message: { model: 'm', content: [{ type: 'tool_use', id: '1', name: 'Bash', input: { command: 'ls' } }] },
    }),
    line({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: '1', is_error: false }] } }),
    line({
      type: 'assistant',
      message: {
        model: 'm',
        content: [
          { type: 'text', text: done },
          { type: 'image', source: { data: 'x' } },
        ],
      },
    }),
    line({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: done,
      total_cost_usd: 0.1,
      usage: { input_tokens: 1, output_tokens: 2 },
      modelUsage: { m: { inputTokens: 1, outputTokens: 2 } },
      permission_denials: [{ tool_name: 'Bash', tool_use_id: '1' }],
    }),
    '',
  ].join('\n'),
  codex: [
    line({ type: 'thread.started', thread_id: '1' }),
    line({ type: 'item.started', item: { id: '1', type: 'command_execution', command: 'ls' } }),
    line({ type: 'item.completed', item: { id: '1', type: 'command_execution', command: 'ls', exit_code: 0 } }),
    line({ type: 'item.completed', item: { id: '2', type: 'agent_message', text: done } }),
    line({ type: 'turn.completed', usage: { input_tokens: 10, cached_input_tokens: 1, output_tokens: 2 } }),
    '',
  ].join('\n'),
  mine: `Working on it.\n\n${done}\n`,
} as const;

type Agent = keyof typeof outputs;

const config = {
  $schema: 'schema.json',
  harness: 'opencode',
  model: 'some/model',
  maxIterations: 5,
  completionPromise: 'COMPLETE',
  verify: ['true'],
  notify: 'true',
  commitMessage: '{change} {iteration}',
  worktree: { setup: 'true' },
  harnesses: { mine: { command: 'mine', args: ['{model}'], allowAllArgs: ['--yes'], trailer: ['tokens used'] } },
  changes: { '002-01': { maxFailures: 2 } },
};

const folder = `.spool/changes/${change}`;
const state = `.spool/.state/ralph/${change}`;

/** What is mutated: a file of the project, or the output of an agent. */
const targets: Readonly<Record<string, { format: Format; file: string }>> = {
  'config.json': { format: 'json', file: '.spool/config.json' },
  'state.json': { format: 'json', file: `${state}/state.json` },
  'history.jsonl': { format: 'lines of json', file: `${state}/history.jsonl` },
  'tasks.md': { format: 'text', file: `${folder}/tasks.md` },
  'proposal.md': { format: 'text', file: `${folder}/proposal.md` },
  'output of the agent': { format: 'lines of json', file: '../output' },
};

interface Change {
  readonly target: string;
  readonly mutations: readonly Mutation[];
}

interface Case {
  readonly changes: readonly Change[];
  readonly agent: Agent;
  /** Whether the user trusts everything in the project. */
  readonly trusting: boolean;
}

const oneChange = fc.constantFrom(...Object.keys(targets)).chain((target) =>
  fc.record({
    target: fc.constant(target),
    mutations: fc.array(mutationsOf(targets[target]!.format), { minLength: 1, maxLength: 2 }),
  }),
);

const oneCase: fc.Arbitrary<Case> = fc.record({
  changes: fc.uniqueArray(oneChange, { minLength: 1, maxLength: 6, selector: ({ target }) => target }),
  agent: fc.constantFrom(...(Object.keys(outputs) as Agent[])),
  trusting: fc.boolean(),
});

test(
  `${runs} projects and agents with damaged or hostile contents cause no crash, hang or escape`,
  async () => {
    const bench = await createBench();
    const codes = new Map<string, number>();
    let called = 0;
    let tried = 0;

    const tryOnce = async (one: Case): Promise<string | null> => {
      bench.prepare(one);
      for (const group of commandsFor(one)) {
        const calls = await Promise.all(group.map((args) => bench.call(args, one)));
        for (const call of calls) {
          called++;
          codes.set(String(call.result.code), (codes.get(String(call.result.code)) ?? 0) + 1);
          const wrong = problemOf(call.result) ?? bench.outside();
          if (wrong !== null) return `spool ${call.args.join(' ')}: ${wrong}`;
        }
        const limit = slackMs + 3 * (await bench.floor(group, one.agent));
        const slow = calls.find(({ ms }) => ms > limit);
        if (slow) return `slow: spool ${slow.args.join(' ')} took ${slow.ms} ms, where ${limit} ms are allowed`;
      }
      return null;
    };

    const check = async (one: Case): Promise<void> => {
      for (let tries = 1; ; tries++) {
        const wrong = await tryOnce(one);
        if (wrong === null) return void tried++;
        if (wrong.startsWith('slow') && tries < maxTries) continue;
        throw new Error(`${wrong}\nThe input is in ${bench.keep(one)}.`);
      }
    };

    await fc.assert(fc.asyncProperty(oneCase, check), {
      seed: inject('seed'),
      ...(path === undefined ? { numRuns: runs } : { numRuns: 1, path, endOnFailure: true }),
      // The input is saved in a folder. Shrinking it further takes minutes.
      interruptAfterTimeLimit: maxMs,
      markInterruptAsFailure: true,
    });
    const found = [...codes].toSorted().map(([code, count]) => `${count} × exit code ${code}`);
    report({
      what: 'config.json, state.json, history.jsonl, tasks.md, proposal.md and output of agents with hostile contents',
      trials: tried,
      found: `0 crashes, 0 hangs, 0 control sequences, nothing outside changed in ${called} calls (${found.join(', ')})`,
    });
  },
  maxMs + 200_000,
);

/** In groups that can run at the same time. */
const commandsFor = ({ agent }: Case): string[][][] => [
  [
    ['list', '--json'],
    ['show', change],
    ['ralph', '--status', '--change', change],
  ],
  [['ralph', '--change', change, '--harness', agent, '--max-iterations', '1', ...quick]],
  [['ralph', '--status', '--json', '--change', change], ['rewind', change, '0', '--dry-run'], ['list']],
];

/** Prevents all waits, regardless of the config file. */
const quick = ['--retry-delay', '1ms', '--max-wait', '1ms', '--max-failures', '1', '--stop-grace', '100ms'];

/** What is wrong with the result of a command, or null. */
const problemOf = ({ code, signal, stdout, stderr }: Result): string | null => {
  const said = stdout + stderr;
  if (signal !== null) return `hangs: it was ended after ${hangsMs} ms`;
  if (code === 70 || /this is a bug|\n {4}at /.test(said)) return `crashed:\n${stderr.slice(0, 2000)}`;
  if (code === null || code > 4) return `ended with exit code ${code}`;
  const control = /[\0-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.exec(said);
  if (control) return `printed ${JSON.stringify(said.slice(Math.max(control.index - 40, 0), control.index + 40))}`;
  if (code === 2 && stderr.length > 10_000) return `an error of ${stderr.length} characters`;
  return null;
};

/** A project with a finished run that can be restored and mutated repeatedly. */
const createBench = async () => {
  const files = {
    '.spool/config.json': JSON.stringify(config, null, 2),
    [`${folder}/tasks.md`]: '# Tasks\n\n## 1. First\n\n- [x] 1.1 One\n- [ ] 1.2 Two\n\n```\n- [ ] no task\n```\n',
    [`${folder}/proposal.md`]:
      '# Add the loop\n\n## Why\n\nIt is needed.\n\n### Requirement: It loops\n\nIt SHALL loop.\n',
  };
  const project = createProject({ files, agent: [says('Hi.'), promise] });
  const base = dirname(project.folder);
  for (const agent of Object.keys(outputs)) addAgent(project, agent);
  mkdirSync(join(base, 'victim'));
  writeFileSync(join(base, 'victim', 'precious.txt'), 'Precious.\n');
  write(join(base, 'output'), outputs.opencode);
  const env = { PATH: `${join(base, 'bin')}:${project.env.PATH}` };
  const first = await project.start(['ralph', '--change', change, ...quick], { env }).result;
  expect(first.code).toBe(0);

  const whole = new Map(Object.values(targets).map(({ file }) => [file, readFileSync(project.path(file))]));
  const wholeFor = (agent: Agent) => new Map([...whole, ['../output', Buffer.from(outputs[agent])]]);
  const outside = () => treeOf(base).filter((entry) => !expected.test(entry));
  // A state.json that is older than its record is rejected, so the record is restored as well.
  const record = join(project.home, '.local', 'state', 'spool');
  const savedRecord = join(base, 'record');
  cpSync(record, savedRecord, { recursive: true });
  const before = outside();

  const prepare = ({ changes, agent }: Case): void => {
    rmSync(record, { recursive: true, force: true });
    cpSync(savedRecord, record, { recursive: true });
    for (const [file, bytes] of wholeFor(agent)) write(project.path(file), bytes);
    for (const { target, mutations } of changes) {
      const { file, format } = targets[target]!;
      write(project.path(file), mutate(wholeFor(agent).get(file)!, format, mutations));
    }
  };

  const call = async (args: readonly string[], { trusting }: Pick<Case, 'trusting'>) => {
    const began = performance.now();
    const started = project.start(args, { env: { ...env, ...(trusting ? { SPOOL_TRUST: '1' } : {}) } });
    const timer = setTimeout(() => started.kill('SIGKILL'), hangsMs);
    const result = await started.result;
    clearTimeout(timer);
    return { args, result, ms: Math.round(performance.now() - began) };
  };

  const unchanged = { changes: [], trusting: true } as const;
  const floors = new Map<string, { ms: number; at: number }>();

  return {
    prepare,
    call,
    /** How long these commands take with valid files. Measured again after a while. */
    floor: async (group: readonly (readonly string[])[], agent: Agent): Promise<number> => {
      const key = group[0]!.join(' ');
      const known = floors.get(key);
      if (known && performance.now() - known.at < 10_000) return known.ms;
      const saved = [...whole.keys()].map((file) => [file, readFileSync(project.path(file))] as const);
      prepare({ ...unchanged, agent });
      const calls = await Promise.all(group.map((args) => call(args, unchanged)));
      const ms = Math.max(...calls.map((each) => each.ms));
      for (const { args, result } of calls) expect(result.code, `${args.join(' ')}: ${result.stderr}`).toBe(0);
      for (const [file, bytes] of saved) write(project.path(file), bytes);
      floors.set(key, { ms, at: performance.now() });
      return ms;
    },
    /** What has changed outside the project, or null. */
    outside: (): string | null => {
      const now = outside();
      const different = [
        ...now.filter((entry) => !before.includes(entry)),
        ...before.filter((entry) => !now.includes(entry)),
      ];
      return different.length === 0 ? null : `changed files outside the project: ${different.join(', ')}`;
    },
    /** Saves the files of a case in a folder that outlives the test. */
    keep: (one: Case): string => {
      const kept = join(tmpdir(), `spool-fuzz-${inject('seed')}`);
      rmSync(kept, { recursive: true, force: true });
      prepare(one);
      for (const { target } of one.changes) {
        const { file } = targets[target]!;
        write(join(kept, file.replace('../', '')), readFileSync(project.path(file)));
      }
      write(join(kept, 'case.json'), `${JSON.stringify(one, null, 2)}\n`);
      return kept;
    },
  };
};

/** The files that Spool may write in the home folder. Nothing else may appear or change. */
const expected = new RegExp(
  [
    String.raw`^home/\.local(?:/state)?(?:/spool)?(?:/projects)? folder$`,
    String.raw`^home/\.local/state/spool/trust\.json `,
    String.raw`^home/\.local/state/spool/projects/project-[\da-f]+(?: folder$|/${change}[ /])`,
  ].join('|'),
);

/** Every file and folder below `root`, as `path kind hash`. */
const treeOf = (root: string, below = ''): string[] =>
  readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (name === 'project' || name === 'output' || name === 'home/agent') return [];
    if (entry.isDirectory()) return [`${name} folder`, ...treeOf(root, name)];
    const stats = lstatSync(join(root, name));
    const hash = entry.isFile()
      ? createHash('sha256')
          .update(readFileSync(join(root, name)))
          .digest('hex')
      : '';
    return [`${name} ${stats.mode.toString(8)} ${hash}`];
  });

const addAgent = (project: TestProject, name: string): void => {
  const file = join(dirname(project.folder), 'bin', name);
  const output = join(dirname(project.folder), 'output');
  write(file, `#!/bin/sh\n[ "$1" = --version ] && { echo 1.18.33; exit; }\ncat > /dev/null\ncat '${output}'\n`);
  chmodSync(file, 0o755);
};

const write = (file: string, contents: string | Buffer): void => {
  mkdirSync(dirname(file), { recursive: true });
  rmSync(file, { force: true, recursive: true });
  writeFileSync(file, contents);
};
