import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { childEnvironment } from '../../process/environment.ts';
import { realPath } from '../../process/which.ts';
import { type Launch, runProcess } from '../../process/run.ts';
import type { TurnEnd } from '../../ralph/agent-events.ts';
import { version } from '../../text/version.ts';
import type { AcpDetails, AcpStart, Harness, Job } from '../harness.ts';
import { field, parseObject } from '../json.ts';
import { createLineSplitter } from '../lines.ts';
import { environmentOf, ownRulesOf } from '../permissions/own-rules.ts';
import type { SessionScope } from '../session.ts';
import { type Answer, type Connection, createConnection } from './connection.ts';
import { createLineRouter, type LineRouter, type Listener } from './line-router.ts';
import { outputMark, sentLine } from './log-lines.ts';
import { createStarted, type Started } from './started.ts';

/** A running agent that speaks ACP. */
export interface AcpAgent {
  readonly connection: Connection;
  readonly started: Started;
  readonly pid: number;
  readonly details: AcpDetails | null;
  /** The sessions that were opened. */
  readonly sessions: Set<string>;
  /** It can be told that a session is over. */
  readonly closesSessions: boolean;
  /** Passes all lines to a turn until it calls the returned function. Those since the last turn come first. */
  listen(turn: Listener): () => void;
  /** Resolves when the process and all that it started are gone. */
  readonly exited: Promise<TurnEnd>;
  /** True from the exit of the process, when others that it started may still run. */
  hasExited(): boolean;
  /** Ends it in the order in which its tools end as well: closes stdin, then sends SIGTERM, then SIGKILL. */
  stop(): Promise<void>;
}

export interface AgentStart {
  readonly harness: Harness;
  readonly binary: string;
  readonly scope: SessionScope;
  readonly tag: string;
  /** Of the first turn. */
  readonly job: Pick<Job, 'model' | 'allowAll'>;
  /** How long it may take to answer for the first time. */
  readonly patienceMs: number;
  /** Aborted if it is not needed after all. If it is not ready by then, it is ended at once: no tool of it runs. */
  readonly cancel: AbortSignal;
}

/** How long an agent may take to exit after its stdin was closed. */
const closeGraceMs = 3000;
/** An agent that does not read what it is sent gets no more. */
const maxUnread = 64 * 1024 * 1024;
/** In characters: how much is logged of each piece of a line that is too long for a message. */
const maxPiece = 2000;

export interface StartProblem {
  readonly why: string;
  /** The program could not be started at all. */
  readonly isMissing: boolean;
}

/** Starts an agent, and resolves when it is ready for a session, or to the reason why it is not. */
export const startAgent = async ({
  harness,
  binary,
  scope,
  ...given
}: AgentStart): Promise<AcpAgent | StartProblem> => {
  const { tag, job, patienceMs, cancel } = given;
  const own = ownRulesOf(harness, scope.rules, { root: realPath(scope.cwd), home: scope.env.HOME ?? null });
  const clean = childEnvironment(scope.env);
  const env = { ...clean, ...environmentOf(own, clean) };
  let start: AcpStart;
  try {
    start = await harness.acp!.start(env, job);
  } catch (error) {
    return { why: scope.redactor.oneLine(error instanceof Error ? error.message : String(error)), isMissing: false };
  }
  const { args, env: added = {}, details = null, whyUnsafe } = start;
  const stdin = new PassThrough();
  const ending = new AbortController();
  let hasExited = false;
  let isReady = false;
  let pid = 0;
  const lines = createLineRouter();
  const connection = openConnection(stdin, lines);
  const launch = {
    ...scope,
    harness,
    binary,
    args: [...args, ...(own.args ?? [])],
    env: { ...env, ...added },
    tag,
    stdin,
    logFile: null,
  };
  const started = createStarted(tag);
  const exited = runAgent(launch, {
    started,
    lines,
    connection,
    stop: ending.signal,
    onStart: (id) => void (pid = id),
    onExit: () => void (hasExited = true),
  });

  const stop = async (): Promise<void> => {
    started.note();
    stdin.end();
    const isUnused = !isReady && cancel.aborted;
    const graceMs = harness.acp?.needsSignal || isUnused ? 0 : Math.min(closeGraceMs, scope.stopGraceMs);
    await Promise.race([exited.catch(() => {}), delay(graceMs, null, { ref: false })]);
    started.note();
    if (!hasExited) ending.abort();
    await exited.catch(() => {});
  };

  const unwanted = AbortSignal.any([scope.stopSignals.stop, cancel]);
  const hello = await greet(connection, unwanted, patienceMs);
  if (hello.type !== 'result' || field(hello.result, 'protocolVersion') !== 1) {
    await stop();
    const ended = await exited;
    const isMissing = ended.end === 'not-started';
    return { why: scope.redactor.oneLine(bootProblem(hello, ended, lines.lastOutput())), isMissing };
  }
  const unsafe = (await whyUnsafe?.(unwanted)) ?? null;
  if (unsafe !== null) {
    await stop();
    return { why: unsafe, isMissing: false };
  }
  isReady = true;
  return {
    connection,
    started,
    pid,
    details,
    sessions: new Set(),
    closesSessions: field(hello.result, 'agentCapabilities', 'sessionCapabilities', 'close') != null,
    listen: lines.listen,
    exited,
    hasExited: () => hasExited,
    stop,
  };
};

/** Logs what is sent. */
const openConnection = (stdin: PassThrough, lines: LineRouter): Connection =>
  createConnection({
    send: (message) => {
      if (stdin.writableLength > maxUnread || stdin.writableEnded) return;
      lines.add(sentLine(message));
      stdin.write(`${message}\n`);
    },
    onRequest: (method, params) => lines.listener()?.onRequest(method, params) ?? null,
  });

interface AgentProcess {
  readonly started: Started;
  readonly lines: LineRouter;
  readonly connection: Connection;
  readonly stop: AbortSignal;
  readonly onStart: (pid: number) => void;
  /** May be called twice. */
  readonly onExit: () => void;
}

type AgentLaunch = Launch & { readonly stdin: PassThrough } & Pick<SessionScope, 'stopSignals'>;

/** Runs the process to its end, which is also that of its streams and of the connection. */
const runAgent = (
  launch: AgentLaunch,
  { started, lines, connection, stop, onStart, onExit }: AgentProcess,
): Promise<TurnEnd> => {
  const { stdout, stderr } = splitOutput(connection, lines);
  const exited = runProcess(launch, {
    started: onStart,
    exited: onExit,
    output: (source, chunk) => {
      (source === 'stdout' ? stdout : stderr).write(chunk);
      return lines.listener()?.drained() ?? null;
    },
    stop,
    kill: launch.stopSignals.kill,
  }).finally(() => {
    onExit();
    stdout.end();
    stderr.end();
    connection.end();
    launch.stdin.destroy();
    return started.endNoted();
  });
  // If its output cannot be recorded, the turn says so.
  exited.catch(() => {});
  return exited;
};

/** Logs what the agent prints, and passes messages on. */
const splitOutput = (connection: Connection, lines: LineRouter) => {
  const piece = (text: string) => lines.add(outputMark + text.slice(0, maxPiece));
  const stdout = createLineSplitter({
    line: (line) => {
      const isMessage = parseObject(line) !== null;
      lines.add(isMessage ? line : `${outputMark}${line}`);
      if (isMessage) connection.receive(line);
    },
    piece,
  });
  const stderr = createLineSplitter({ line: (line) => lines.add(`${outputMark}${line}`), piece });
  return { stdout, stderr };
};

/** Resolves to the answer of the agent. A stop ends the connection, and with it the wait. */
const greet = async (connection: Connection, stop: AbortSignal, patienceMs: number) => {
  const onStop = () => connection.end();
  stop.addEventListener('abort', onStop);
  if (stop.aborted) onStop();
  const hello = await connection.request('initialize', clientInfo, patienceMs);
  stop.removeEventListener('abort', onStop);
  return hello;
};

const clientInfo = {
  protocolVersion: 1,
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  clientInfo: { name: 'spool', version },
};

const bootProblem = (hello: Answer, ended: TurnEnd, lastLine: string | null): string => {
  if (ended.end === 'not-started') return ended.problem ?? 'it could not be started';
  if (hello.type === 'timeout') return 'it did not answer "initialize" in time';
  if (hello.type === 'error') return `it refused "initialize": ${hello.message}`;
  if (hello.type === 'result') return 'it does not support version 1 of the Agent Client Protocol';
  const how = ended.exitCode === null ? `was killed by ${ended.signal}` : `exited with code ${ended.exitCode}`;
  return `it ${how} when it was started${lastLine === null ? '' : `: ${lastLine}`}`;
};
