import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultBlockedPromise, defaultCompletionPromise } from '../../ralph/defaults.ts';
import type { AgentEvent, TurnEnd } from '../../ralph/agent-events.ts';
import type { AgentChoice } from '../../ralph/plan.ts';
import { openSession } from '../../harness/open-session.ts';
import type { AgentMode } from '../../harness/agent-mode.ts';
import type { Harness } from '../../harness/harness.ts';
import { allowedEnvironment } from '../../process/scope.ts';
import { processesOf, terminateAll } from '../../process/tree.ts';
import { processesIn } from '../../process/working-in.ts';
import { observeIteration, type Verdict } from '../../ralph/observe-iteration.ts';
import { createRedactor } from '../../secrets/redact.ts';
import type { StopSignals } from '../../process/signals.ts';

/** Longer than the longest argument on Linux. */
const promptBytes = 200 * 1024;
const maxMs = 3 * 60_000;
const endGraceMs = 1000;

export interface Probe {
  readonly harness: Harness;
  readonly agent: AgentChoice;
  readonly env: NodeJS.ProcessEnv;
  readonly stopSignals: Pick<StopSignals, 'stop' | 'kill'>;
  /** Whether a loop would use --allow-all. */
  readonly allowAll: boolean;
  /** The mode that a loop would use. */
  readonly mode: AgentMode;
  /** Why it is that mode. */
  readonly reason: string;
}

interface Task {
  readonly allowAll: boolean;
  readonly text: string;
}

export interface TaskOutcome extends Pick<Verdict, 'completionFound' | 'denied'> {
  readonly error: { readonly kind: string; readonly message: string } | null;
  readonly ended: TurnEnd;
  /** All that the agent said. */
  readonly said: string;
}

export interface ProbeSession {
  run(task: Task): Promise<TaskOutcome>;
  /** Whether a process of the agent is running. Linux only. */
  isRunning(): boolean;
  /** What the session told the user. */
  readonly notices: readonly string[];
  close(): Promise<void>;
  /** After the session is closed: ends what was started in it and still runs, and returns how much that was. */
  endRemaining(): Promise<number>;
}

/** Opens one session for all tasks, as a loop does, in the folder `project` in `base`. */
export const openProbe = ({ harness, agent, env, stopSignals, mode }: Probe, base: string): ProbeSession => {
  const tag = `doctor-${process.pid}-${harness.name}`;
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
    tag,
    onNotice: (text) => notices.push(text),
  });
  let count = 0;

  const run = async ({ allowAll, text }: Task): Promise<TaskOutcome> => {
    const prompt = promptFor(harness, text);
    const promptFile = join(base, 'prompt.md');
    writeFileSync(promptFile, prompt);
    const { trailer = [] } = harness.output;
    const promises = { completionPromise: defaultCompletionPromise, blockedPromise: defaultBlockedPromise };
    const observer = observeIteration({ ...promises, trailer }, prompt);
    let said = '';
    const onEvent = (event: AgentEvent) => {
      observer.observe(event);
      if (event.type === 'text' || event.type === 'reasoning') said += event.text;
      return null;
    };
    const turn = {
      job: { model: agent.model, allowAll, prompt, promptFile, title: 'spool doctor' },
      tag: `${tag}/task-${++count}`,
      logFile: join(base, 'log'),
      deadlines: { iterationMs: maxMs, idleMs: Infinity, leftMs: Infinity, untilMs: Infinity },
    };
    const ended = await session.prompt(turn, { onEvent });
    const { completionFound, denied, error } = observer.judge(ended);
    const tooLong = ended.end === 'timed-out';
    return {
      completionFound,
      denied,
      error: tooLong ? { kind: 'timeout', message: 'took longer than 3 minutes' } : error,
      ended,
      said,
    };
  };

  return {
    run,
    isRunning: () => processesOf(tag).length > 0,
    notices,
    close: session.close,
    // One without the tag is known by the folder, which nothing else uses.
    endRemaining: () => terminateAll(() => [...new Set([...processesOf(tag), ...processesIn(base)])], endGraceMs),
  };
};

const promptFor = (harness: Harness, task: string): string => {
  // A prompt passed as an argument cannot be that long.
  const length = harness.launch.promptVia === 'argument' ? 0 : promptBytes;
  return `${'This line only makes the prompt long.\n'.repeat(length / 38)}
This is a test of the connection. ${task} Then print <promise>${defaultCompletionPromise}</promise> as your last line, alone on that line.
`;
};
