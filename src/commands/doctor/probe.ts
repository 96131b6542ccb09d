import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultBlockedPromise, defaultCompletionPromise } from '../../ralph/defaults.ts';
import type { AgentEvent } from '../../ralph/agent-events.ts';
import type { AgentChoice } from '../../ralph/plan.ts';
import { openSession } from '../../harness/open-session.ts';
import type { AgentMode } from '../../harness/agent-mode.ts';
import type { Harness } from '../../harness/harness.ts';
import { allowedEnvironment } from '../../process/scope.ts';
import { observeIteration } from '../../ralph/iteration.ts';
import { createRedactor } from '../../secrets/redact.ts';
import type { StopSignals } from '../../process/signals.ts';
import { type Check, fail, ok, warn } from './check.ts';

/** Longer than the longest argument on Linux. */
const promptBytes = 200 * 1024;
const maxMs = 3 * 60_000;

export interface Probe {
  readonly harness: Harness;
  readonly agent: AgentChoice;
  readonly env: NodeJS.ProcessEnv;
  readonly stopSignals: Pick<StopSignals, 'stop' | 'kill'>;
  /** Whether a loop would use --allow-all. */
  readonly allowAll: boolean;
  /** The mode that a loop would use. */
  readonly mode: AgentMode;
}

/** Runs the agent twice in a temporary folder: once as a loop would, once on a task it must not be allowed to do. */
export const probeAgent = async (probe: Probe): Promise<Check[]> => {
  const { oneLine } = createRedactor(probe.env);
  const base = mkdtempSync(join(tmpdir(), 'spool-probe-'));
  const project = join(base, 'project');
  mkdirSync(project);
  try {
    const first = await run(probe, base, {
      allowAll: probe.allowAll,
      task: `Write a file named probe.txt with the word ok into the folder ${project}.`,
    });
    if (first.error !== null)
      return [fail(probe.harness.name, `probe: ${oneLine(first.error.message)}`, fixFor(first.error.kind))];
    if (first.denied !== null && !existsSync(join(project, 'probe.txt')))
      return [fail(probe.harness.name, `probe: ${oneLine(first.denied.message)}`, fixFor('permission'))];
    return [...judgeFirst(probe, project, first), ...(await probeDenial(probe, base))];
  } finally {
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }
};

const fixFor = (kind: string) =>
  kind === 'permission' ? 'spool doctor --probe --allow-all, if that is safe here' : 'see the message';

type Outcome = Awaited<ReturnType<typeof run>>;

const judgeFirst = (
  { harness, mode }: Probe,
  project: string,
  { completionFound, ended, notices }: Outcome,
): Check[] => [
  ...notices.map((text) => warn(harness.name, `probe: ${text}`, 'use --agent-mode cold')),
  completionFound
    ? ok(harness.name, 'probe: read a prompt of 200 KiB and printed the promise')
    : fail(harness.name, 'probe: did not print the promise', 'try another model'),
  ok(harness.name, ended.end === 'answered' ? `probe: answered in ${mode} mode` : `probe: exit code ${ended.exitCode}`),
  existsSync(join(project, 'probe.txt'))
    ? ok(harness.name, 'probe: wrote a file')
    : fail(harness.name, 'probe: did not write a file', 'try another model, or check its permissions'),
];

const probeDenial = async (probe: Probe, base: string): Promise<Check[]> => {
  const { oneLine } = createRedactor(probe.env);
  const outside = join(base, 'outside.txt');
  const { error, ended } = await run(probe, base, {
    allowAll: false,
    task: `Write a file ${outside}. If you may not, say so.`,
  });
  if (error !== null && (error.kind !== 'permission' || (ended.exitCode ?? 0) !== 0))
    return [warn(probe.harness.name, `probe: without --allow-all: ${oneLine(error.message)}`, 'use --allow-all')];
  return [
    existsSync(outside)
      ? warn(probe.harness.name, 'probe: wrote outside the project without permission', 'use --sandbox')
      : ok(probe.harness.name, 'probe: wrote nothing outside the project without --allow-all'),
  ];
};

const run = async (
  { harness, agent, env, stopSignals, mode }: Probe,
  base: string,
  { allowAll, task }: { allowAll: boolean; task: string },
) => {
  // A prompt passed as an argument cannot be that long.
  const length = harness.launch.promptVia === 'argument' ? 0 : promptBytes;
  const prompt = `${'This line only makes the prompt long.\n'.repeat(length / 38)}
This is a test of the connection. ${task} Then print <promise>${defaultCompletionPromise}</promise> as your last line, alone on that line.
`;
  const promptFile = join(base, 'prompt.md');
  writeFileSync(promptFile, prompt);
  const { trailer = [] } = harness.output;
  const promises = { completionPromise: defaultCompletionPromise, blockedPromise: defaultBlockedPromise };
  const observer = observeIteration({ ...promises, trailer }, prompt);
  const notices: string[] = [];
  const session = openSession(harness, {
    cwd: join(base, 'project'),
    env: allowedEnvironment(env),
    stopGraceMs: 2000,
    stopSignals,
    redactor: createRedactor(env),
    sandbox: null,
    rules: { allow: [], deny: [] },
    mode,
    tag: `doctor-${process.pid}`,
    onNotice: (text) => notices.push(text),
  });
  const turn = {
    job: { model: agent.model, allowAll, prompt, promptFile, title: 'spool doctor' },
    tag: `doctor-${process.pid}/${task.length}`,
    logFile: join(base, 'log'),
    deadlines: { iterationMs: maxMs, idleMs: Infinity, leftMs: Infinity, untilMs: Infinity },
  };
  const onEvent = (event: AgentEvent) => {
    observer.observe(event);
    return null;
  };
  const ended = await session.prompt(turn, { onEvent }).finally(() => session.close());
  const verdict = observer.judge(ended);
  const tooLong = ended.end === 'timed-out';
  return {
    ...verdict,
    error: tooLong ? { kind: 'timeout', message: 'took longer than 3 minutes' } : verdict.error,
    ended,
    notices,
  };
};
