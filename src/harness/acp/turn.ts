import type { DeniedCall } from '../decoded-event.ts';
import { remedyFor } from '../permissions/remedy.ts';
import { closeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openEmpty, writeAll } from '../../files/safe.ts';
import { createWatchdog } from '../../process/watchdog.ts';
import { realPath } from '../../process/which.ts';
import type { AbortReason, TurnEnd } from '../../ralph/agent-events.ts';
import { createDiagnosis } from '../diagnosis.ts';
import type { Decoder } from '../harness.ts';
import { textAt } from '../json.ts';
import { type Problem, problemEvent } from '../problem.ts';
import type { SessionScope, TurnObserver } from '../session.ts';
import type { AcpAgent } from './agent.ts';
import type { Answer } from './connection.ts';
import { createAcpDecoder } from './decoder.ts';
import { type Annotation, annotationLine } from './log-lines.ts';
import { createPermissionAnswers } from './permission-answers.ts';
import { openAcpSession } from './open-acp-session.ts';
import { isProtocolError } from './problems.ts';
import { whyServerless } from './recycle.ts';
import type { TurnRequest } from './turn-request.ts';

export type TurnOutcome =
  /** The agent could not be prompted, so the turn may be run in another way. */
  | { readonly type: 'not-prompted'; readonly why: string }
  | {
      readonly type: 'ended';
      readonly ended: TurnEnd;
      readonly agent: AgentState;
    };

export type AgentState =
  /** It answered as agreed, so it can be prompted again. */
  | { readonly type: 'healthy' }
  /** `why` is for the user, unless the end of the turn already says it. */
  | { readonly type: 'unhealthy'; readonly why: string | null }
  /** It exited by itself after its answer, with code 0. */
  | { readonly type: 'exited' }
  /** It exited before it had answered, or with an error. */
  | { readonly type: 'crashed' };

/** How long a cancelled agent may take to answer. */
const cancelGraceMs = 2000;
/** How long it may take to report details, or to close a session. */
const detailsMs = 5000;
/** How long an agent that has answered is watched for its exit, if there is no session to close. */
const exitMs = 200;
/** How often an agent is asked for details while it works. */
const pollMs = 2000;

/** Prompts an agent once, in a session of its own. Rejects only if the output cannot be recorded. */
export const runTurn = async (agent: AcpAgent, request: TurnRequest, observer: TurnObserver): Promise<TurnOutcome> => {
  const running = startTurn(agent, request, observer);
  const { stopped, failed, diagnosis } = running;
  try {
    // Its requests have their own time limits, after which the turn can be run in another way.
    const opened = await Promise.race([running.withoutIdleTime(openAcpSession(agent, request)), stopped, failed]);
    if (opened === 'stopped') return await endAborted(running);
    if (opened.type === 'gone') return { type: 'not-prompted', why: opened.why };
    if (opened.type === 'refused') {
      diagnosis.observe(problemEvent(opened.problem));
      const isClosed = opened.sessionId === null || (await closeSession(agent, opened.sessionId));
      return endTurn(running, answered, stateAfter({ ...opened, isClosed, mayHaveServed: false }));
    }
    return await promptSession(running, opened.sessionId);
  } finally {
    running.dispose();
  }
};

const promptSession = async (running: RunningTurn, sessionId: string): Promise<TurnOutcome> => {
  const { agent, request, stopped, failed } = running;
  running.prompted.session = sessionId;
  agent.started.turnStarts();
  const stopPolling = poll(agent, sessionId, running.annotate);
  const prompt = [{ type: 'text', text: request.turn.job.prompt }];
  const answer = agent.connection.request('session/prompt', { sessionId, prompt }, Infinity, () => {
    running.prompted.session = null;
  });
  const first = await Promise.race([answer, stopped, failed]).finally(stopPolling);
  if (first === 'stopped') {
    agent.connection.notify('session/cancel', { sessionId });
    await Promise.race([answer, delay(cancelGraceMs, null, { ref: false })]);
    return endAborted(running);
  }
  if (first.type === 'gone') {
    const ended = await agent.exited;
    running.diagnosis.observe(crash(request.harness.title, ended));
    return endTurn(running, ended, { type: 'crashed' });
  }
  const details = await detailsOf(agent, sessionId);
  running.annotate(details);
  const isClosed = await closeSession(agent, sessionId);
  const { mayHaveServed } = await agent.started.endTools();
  const ended = await exitAfterAnswer(agent);
  const state = stateAfter({ isProtocolError: isBroken(first, details.problem), isClosed, mayHaveServed });
  return endTurn(running, ended ?? answered, ended === null ? state : stateOfExit(ended));
};

/** Whether the answer to a prompt breaks the protocol. */
const isBroken = (answer: Answer, problem: Problem | undefined): boolean =>
  answer.type === 'error'
    ? isProtocolError(answer, problem)
    : answer.type === 'result' && textAt(answer.result, 'stopReason') === null;

interface Answered {
  readonly isProtocolError: boolean;
  readonly isClosed: boolean;
  /** Whether what was ended after the turn may have been a server of the agent. */
  readonly mayHaveServed: boolean;
}

const stateAfter = ({ isProtocolError: isError, isClosed, mayHaveServed }: Answered): AgentState => {
  if (isError) return { type: 'unhealthy', why: 'it answered with a protocol error' };
  if (!isClosed) return { type: 'unhealthy', why: 'it did not close its session' };
  if (mayHaveServed) return { type: 'unhealthy', why: whyServerless };
  return { type: 'healthy' };
};

/** For an exit by itself after an answer. */
export const stateOfExit = ({ exitCode }: TurnEnd): AgentState => ({ type: exitCode === 0 ? 'exited' : 'crashed' });

/**
 * Returns how the agent ended if it exited by itself after its answer, and null if it is running. One that has closed
 * its session was running after the answer, so it is only looked at; otherwise its exit may be on its way.
 */
const exitAfterAnswer = async (agent: AcpAgent): Promise<TurnEnd | null> => {
  // Even without a wait: Node notices an exit in its next round.
  await Promise.race([agent.exited, delay(agent.closesSessions ? 0 : exitMs, null, { ref: false })]);
  return agent.hasExited() ? agent.exited : null;
};

interface RunningTurn {
  readonly agent: AcpAgent;
  readonly request: TurnRequest;
  readonly diagnosis: ReturnType<typeof createDiagnosis>;
  readonly decoder: Decoder;
  /** Aborted if the turn takes too long or costs too much. */
  readonly aborting: AbortSignal;
  readonly stopped: Promise<'stopped'>;
  /** Rejects if the output could not be recorded. */
  readonly failed: Promise<never>;
  readonly annotate: (found: Annotation) => void;
  /** Does not count the time of this work as idle. */
  readonly withoutIdleTime: <Result>(work: Promise<Result>) => Promise<Result>;
  readonly dispose: () => void;
  /** The session that was prompted, until it has answered. */
  readonly prompted: { session: string | null };
}

/** Listens to the agent, and records and decodes what it says. */
const startTurn = (agent: AcpAgent, request: TurnRequest, observer: TurnObserver): RunningTurn => {
  const { harness, scope, turn } = request;
  const log = openLog(turn.logFile, scope);
  const aborting = new AbortController();
  const abort = (why: AbortReason | null) => {
    if (why) aborting.abort(why);
  };
  const { allowAll } = turn.job;
  const prompted: RunningTurn['prompted'] = { session: null };
  const isReview = turn.job.isReview ?? false;
  const roots = { root: realPath(scope.cwd), home: scope.env.HOME ?? null };
  const answers = createPermissionAnswers({
    policy: { ...scope.rules, ...roots, allowAll },
    isReview,
    session: () => prompted.session,
    onDenied: (denied) => annotate({ denied }),
  });
  const advice = {
    allowAll,
    redactor: scope.redactor,
    remedyFor: (call: DeniedCall) => (isReview ? null : remedyFor(harness, call, { rules: scope.rules, roots })),
  };
  const diagnosis = createDiagnosis(harness, advice, (event) => abort(observer.onEvent(event)));
  const decoder = createAcpDecoder(harness.title, harness.acp?.quirks);
  const watchdog = createWatchdog(turn.deadlines, abort);
  const line = (text: string) => {
    log.write(text);
    decoder.stdout(text)?.forEach((event) => diagnosis.observe(event));
  };
  const annotate = (found: Annotation) => {
    if (Object.keys(found).length > 0) line(annotationLine(found));
  };
  const mute = agent.listen({
    line: (text) => {
      watchdog.alive();
      answers.observe(text);
      line(text);
    },
    drained: () => {
      const waiting = observer.drained?.() ?? null;
      return waiting && watchdog.busy(waiting);
    },
    onRequest: (method, params) => (method === 'session/request_permission' ? answers.answer(params) : null),
  });
  const stopped = abortOf(AbortSignal.any([scope.stopSignals.stop, aborting.signal]));
  const failed = new Promise<never>((_, reject) => agent.exited.catch(reject));
  failed.catch(() => {});
  const dispose = () => {
    mute();
    watchdog.dispose();
    log.close();
  };
  return {
    agent,
    request,
    diagnosis,
    decoder,
    aborting: aborting.signal,
    stopped,
    failed,
    annotate,
    withoutIdleTime: watchdog.busy,
    dispose,
    prompted,
  };
};

/** Reports how the turn ended, unless the agent did. */
const endTurn = ({ decoder, diagnosis }: RunningTurn, ended: TurnEnd, agent: AgentState): TurnOutcome => {
  decoder.end().forEach((event) => diagnosis.observe(event));
  diagnosis.end(ended);
  return { type: 'ended', ended, agent };
};

/** Ends the agent, which may have started anything. */
const endAborted = async (running: RunningTurn): Promise<TurnOutcome> => {
  const { agent, request, aborting } = running;
  await agent.stop();
  return endTurn(running, endOf(request.scope.stopSignals.stop, aborting), { type: 'unhealthy', why: null });
};

const answered: TurnEnd = { end: 'answered', exitCode: null, signal: null, problem: null };

/** Writes lines without secrets. */
const openLog = (path: string, { redactor }: SessionScope) => {
  const file = openEmpty(path);
  const redacted = redactor.stream();
  return {
    write: (line: string) => writeAll(file, redacted.pass(Buffer.from(`${line}\n`))),
    close: () => {
      try {
        writeAll(file, redacted.end());
      } finally {
        closeSync(file);
      }
    },
  };
};

const abortOf = (signal: AbortSignal): Promise<'stopped'> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve('stopped');
    else signal.addEventListener('abort', () => resolve('stopped'), { once: true });
  });

const endOf = (stop: AbortSignal, aborting: AbortSignal): TurnEnd => {
  if (stop.aborted) return { ...answered, end: 'interrupted' };
  const { end, why } = aborting.reason as AbortReason;
  return { ...answered, end, problem: why };
};

/** An agent that exits before it has answered has failed, whatever its exit code. */
const crash = (title: string, { exitCode, signal }: TurnEnd) =>
  problemEvent({
    kind: 'crash',
    message: `${title} ${exitCode === null ? `was killed by ${signal}` : `exited with code ${exitCode}`} before it answered`,
  });

/** Asks the agent for its usage, and for what it waits for, while it works. Returns a function that ends it. */
const poll = ({ details }: AcpAgent, sessionId: string, annotate: (found: Annotation) => void): (() => void) => {
  if (details === null) return () => {};
  let last: string | null = null;
  let lastUsage = '';
  let isOver = false;
  const ask = async () => {
    const [usage, waiting] = await Promise.all([details.usage(sessionId), details.waiting(sessionId)]);
    if (isOver) return;
    const hasMore = usage !== null && JSON.stringify(usage) !== lastUsage;
    annotate({ ...(hasMore && { usage }), ...(waiting !== null && waiting !== last && { waiting }) });
    if (hasMore) lastUsage = JSON.stringify(usage);
    last = waiting;
  };
  const timer = setInterval(() => void ask(), pollMs).unref();
  return () => {
    isOver = true;
    clearInterval(timer);
  };
};

const detailsOf = async ({ details }: AcpAgent, sessionId: string): Promise<Annotation> => {
  if (details === null) return {};
  const asked = Promise.all([details.usage(sessionId), details.ending(sessionId)]);
  const [usage, ending] = await Promise.race([asked, delay(detailsMs, [null, {}] as const, { ref: false })]);
  return { ...(usage && { usage }), ...ending };
};

/** Returns false if the agent did not close it. */
const closeSession = async ({ connection, closesSessions }: AcpAgent, sessionId: string): Promise<boolean> =>
  !closesSessions || (await connection.request('session/close', { sessionId }, detailsMs)).type === 'result';
