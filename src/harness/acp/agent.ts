import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { childEnvironment } from '../../process/environment.ts';
import { realPath } from '../../process/which.ts';
import { runProcess } from '../../process/run.ts';
import type { TurnEnd } from '../../ralph/agent-events.ts';
import { version } from '../../text/version.ts';
import type { AcpDetails, Harness } from '../harness.ts';
import { field, parseObject } from '../json.ts';
import { createLineSplitter } from '../lines.ts';
import { environmentOf, ownRulesOf } from '../permissions/own-rules.ts';
import type { SessionScope } from '../session.ts';
import { type Answer, type Connection, createConnection } from './connection.ts';
import { createLineRouter, type Listener } from './line-router.ts';
import { outputMark, sentLine } from './log-lines.ts';

/** A running agent that speaks ACP. */
export interface AcpAgent {
  readonly connection: Connection;
  /** In the environment of all its processes. */
  readonly tag: string;
  readonly pid: number;
  readonly details: AcpDetails | null;
  /** It can be told that a session is over. */
  readonly closesSessions: boolean;
  /** Passes all lines to a turn until it calls the returned function. Those since the last turn come first. */
  listen(turn: Listener): () => void;
  /** Resolves when the process and all that it started are gone. */
  readonly exited: Promise<TurnEnd>;
  hasExited(): boolean;
  /** Ends it in the order in which its tools end as well: closes stdin, then sends SIGTERM, then SIGKILL. */
  stop(): Promise<void>;
}

export interface AgentStart {
  readonly harness: Harness;
  readonly binary: string;
  readonly scope: SessionScope;
  readonly tag: string;
  /** How long it may take to answer for the first time. */
  readonly patienceMs: number;
}

/** How long an agent may take to exit after its stdin was closed. */
const closeGraceMs = 3000;
/** An agent that does not read what it is sent gets no more. */
const maxUnread = 64 * 1024 * 1024;
/** In characters: how much is logged of each piece of a line that is too long for a message. */
const longestPiece = 2000;

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
  const { tag, patienceMs } = given;
  const own = ownRulesOf(harness, scope.permissions, { root: realPath(scope.cwd), home: scope.env.HOME ?? null });
  const clean = childEnvironment(scope.env);
  const env = { ...clean, ...environmentOf(own, clean) };
  const { args, env: added = {}, details = null } = await harness.acp!.start(env);
  const stdin = new PassThrough();
  const ending = new AbortController();
  let hasExited = false;
  let pid = 0;
  const lines = createLineRouter();
  const connection = createConnection({
    send: (message) => {
      if (stdin.writableLength > maxUnread || stdin.writableEnded) return;
      lines.add(sentLine(message));
      stdin.write(`${message}\n`);
    },
    onRequest: (method, params) => lines.listener()?.onRequest(method, params) ?? null,
  });
  const stdout = createLineSplitter({
    line: (line) => {
      const isMessage = parseObject(line) !== null;
      lines.add(isMessage ? line : `${outputMark}${line}`);
      if (isMessage) connection.receive(line);
    },
    piece: (text) => lines.add(outputMark + text.slice(0, longestPiece)),
  });
  const stderr = createLineSplitter({
    line: (line) => lines.add(`${outputMark}${line}`),
    piece: (text) => lines.add(outputMark + text.slice(0, longestPiece)),
  });
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
  const exited = runProcess(launch, {
    started: (id) => {
      pid = id;
    },
    output: (source, chunk) => {
      (source === 'stdout' ? stdout : stderr).write(chunk);
      return lines.listener()?.drained() ?? null;
    },
    stop: ending.signal,
    kill: scope.stopSignals.kill,
  }).finally(() => {
    hasExited = true;
    stdout.end();
    stderr.end();
    connection.end();
    stdin.destroy();
  });
  // If its output cannot be recorded, the turn says so.
  exited.catch(() => {});

  const stop = async (): Promise<void> => {
    stdin.end();
    await Promise.race([
      exited.catch(() => {}),
      delay(Math.min(closeGraceMs, scope.stopGraceMs), null, { ref: false }),
    ]);
    if (!hasExited) ending.abort();
    await exited.catch(() => {});
  };

  const onStop = () => connection.end();
  scope.stopSignals.stop.addEventListener('abort', onStop);
  const hello = await connection.request('initialize', clientInfo, patienceMs);
  scope.stopSignals.stop.removeEventListener('abort', onStop);
  if (hello.type !== 'result' || field(hello.result, 'protocolVersion') !== 1) {
    await stop();
    const ended = await exited;
    const isMissing = ended.end === 'not-started';
    return { why: scope.redactor.oneLine(bootProblem(hello, ended, lines.lastOutput())), isMissing };
  }
  return {
    connection,
    tag,
    pid,
    details,
    closesSessions: field(hello.result, 'agentCapabilities', 'sessionCapabilities', 'close') != null,
    listen: lines.listen,
    exited,
    hasExited: () => hasExited,
    stop,
  };
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
