import type { AgentEvent, CommandOrigin, Limits, RunEvent, RunPlan } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import {
  absentIs,
  count,
  flag,
  isObject,
  listOf,
  matching,
  moment,
  number,
  object,
  oneOf,
  orNull,
  parseJson,
  required,
  type Shape,
  text,
  time,
  validItems,
  wrongIs,
  wrongIsLeftOut,
} from '../text/shape.ts';
import {
  agent,
  agents,
  attempt,
  causes,
  error,
  gatePlan,
  parseRecord,
  parseView,
  tasks,
  uncommitted,
  usage,
  workspace,
  yes,
} from './formats.ts';
import type { JournalLine } from './journal-lines.ts';
import { runId } from './run-id.ts';

/*
 * How the journal is read. Agents can write to it, so a line counts only when all of it has the right shape. Nothing is
 * decided by it: it is only shown.
 */

/** Returns undefined for a line that was cut off, or that Spool did not write. */
export const parseJournalLine = (line: string): JournalLine | undefined => journalLine(parseJson(line));

/** Objects whose `type` says which shape they have. */
const tagged =
  <Type extends { readonly type: string }>(shapes: {
    readonly [Tag in Type['type']]: Shape<Omit<Extract<Type, { readonly type: Tag }>, 'type'>>;
  }): Shape<Type> =>
  (value) => {
    const type = isObject(value) ? text(value.type) : undefined;
    if (type === undefined || !Object.hasOwn(shapes, type)) return undefined;
    const fields = (shapes[type as Type['type']] as Shape<object>)(value);
    return fields && ({ type, ...fields } as unknown as Type);
  };

type Fields<Union extends { readonly type: string }, Tag extends Union['type']> = Omit<
  Extract<Union, { readonly type: Tag }>,
  'type'
>;

const agentEvent: Shape<AgentEvent> = tagged<AgentEvent>({
  text: object<Fields<AgentEvent, 'text'>>({ text: required(text), plain: required(flag) }),
  reasoning: object<Fields<AgentEvent, 'reasoning'>>({ text: required(text) }),
  tool: object<Fields<AgentEvent, 'tool'>>({ tool: required(text), title: required(text) }),
  'tool-result': object<Fields<AgentEvent, 'tool-result'>>({
    tool: required(text),
    failed: required(flag),
    denied: wrongIsLeftOut(yes),
  }),
  denied: object<Fields<AgentEvent, 'denied'>>({
    tool: required(text),
    byRule: wrongIsLeftOut(yes),
    message: required(text),
    allowAllHelps: wrongIsLeftOut(yes),
  }),
  usage,
  error,
  stderr: object<Fields<AgentEvent, 'stderr'>>({ text: required(text) }),
});

/** JSON has no Infinity, which means no limit: it is written as null. */
const limit: Shape<number> = (value) => (value === null ? Infinity : number(value));

const limits: Shape<Limits> = object<Limits>({
  maxDurationMs: required(limit),
  untilMs: required(limit),
  maxCostUsd: required(limit),
  maxTokens: required(limit),
  iterationTimeoutMs: required(limit),
  idleTimeoutMs: required(limit),
  maxFailures: required(limit),
  maxStalled: required(limit),
  maxWaitMs: required(limit),
});

const plan: Shape<RunPlan> = object<RunPlan>({
  run: required(matching(runId)),
  change: required(text),
  module: required(orNull(text)),
  agents: required(agents),
  allowAll: required(flag),
  sandbox: required(flag),
  completionPromise: required(text),
  blockedPromise: required(text),
  minIterations: required(count),
  maxIterations: required(limit),
  limits: required(limits),
  failFast: required(flag),
  commit: required(flag),
  retryDelayMs: required(number),
  firstIteration: required(count),
  gate: required(gatePlan),
});

const commandOrigin: Shape<CommandOrigin> = object<CommandOrigin>({
  key: required(oneOf(['harness', 'verify', 'worktreeSetup', 'notify'])),
  command: required(text),
  source: required(text),
  setBy: wrongIsLeftOut(oneOf(['caller', 'variable', 'project', 'last run'])),
  hash: wrongIs(null, orNull(text)),
  trusted: wrongIs(null, orNull(text)),
});

const runEvent: Shape<RunEvent> = tagged<RunEvent>({
  'run-started': object<Fields<RunEvent, 'run-started'>>({
    plan: required(plan),
    workspace: required(workspace),
    commands: wrongIsLeftOut(validItems(commandOrigin)),
    guarded: wrongIsLeftOut(validItems(text)),
    at: required(moment),
  }),
  'iteration-started': object<Fields<RunEvent, 'iteration-started'>>({
    iteration: required(count),
    agent: required(agent),
    at: required(moment),
  }),
  agent: object<Fields<RunEvent, 'agent'>>({ event: required(agentEvent) }),
  notice: object<Fields<RunEvent, 'notice'>>({ text: required(text) }),
  'iteration-finished': object<Fields<RunEvent, 'iteration-finished'>>({
    record: required(parseRecord),
    at: required(moment),
  }),
  'attempt-deferred': object<Fields<RunEvent, 'attempt-deferred'>>({
    attempt: required(attempt),
    untilMs: required(time),
    atMs: required(time),
    at: required(moment),
  }),
  waiting: object<Fields<RunEvent, 'waiting'>>({
    untilMs: required(time),
    why: required(text),
    at: required(moment),
  }),
  'iteration-pending': object<Fields<RunEvent, 'iteration-pending'>>({
    record: required(parseRecord),
    at: required(moment),
  }),
  'gate-started': object<Fields<RunEvent, 'gate-started'>>({ commands: required(listOf(text)) }),
  'run-ended': object<Fields<RunEvent, 'run-ended'>>({
    reason: required(oneOf(['complete', 'limit', 'failed', 'blocked', 'interrupted'])),
    cause: required(oneOf(causes)),
    detail: required(text),
    allowAllHelps: wrongIsLeftOut(yes),
    tasks: required(orNull(tasks)),
    uncommitted: wrongIsLeftOut(validItems(uncommitted)),
    notes: wrongIsLeftOut(validItems(text)),
    at: required(moment),
  }),
});

const journalLine: Shape<JournalLine> = object<JournalLine>({
  v: required(oneOf([1])),
  seq: required(count),
  at: required(moment),
  elapsedMs: absentIs(0, number),
  event: required(runEvent),
  view: wrongIsLeftOut<RunView>(parseView),
});
