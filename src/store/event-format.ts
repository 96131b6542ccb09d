import type { AgentEvent } from '../ralph/agent-events.ts';
import type { CommandOrigin, Limits, RunPlan } from '../ralph/plan.ts';
import type { RunEvent } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';
import { controlCommands, requestId } from '../ralph/control.ts';
import {
  withDefault,
  count,
  boolean,
  listOf,
  matching,
  isoTime,
  number,
  object,
  oneOf,
  orNull,
  parseJson,
  required,
  shape,
  type Shape,
  tagged,
  named,
  text,
  epochMs,
  validItems,
  withFallback,
  droppedIfInvalid,
} from '../text/shape.ts';
import {
  agent,
  agentSwitch,
  agents,
  attempt,
  causes,
  changed,
  error,
  gatePlan,
  parseRecord,
  parseView,
  review,
  tasks,
  uncommitted,
  usage,
  workspace,
  yes,
} from './formats.ts';
import type { JournalLine } from './journal-lines.ts';
import { runId } from './run-id.ts';

/*
 * How the journal is read. Agents can write to it, so a line counts only if all of it has the right shape. The journal
 * decides nothing: it is only shown.
 */

/** Returns undefined for a line that was cut off, or that Spool did not write. */
export const parseJournalLine = (line: string): JournalLine | undefined => journalLine(parseJson(line));

type Fields<Union extends { readonly type: string }, Tag extends Union['type']> = Omit<
  Extract<Union, { readonly type: Tag }>,
  'type'
>;

const agentEvent: Shape<AgentEvent> = named(
  'AgentEvent',
  tagged<AgentEvent>({
    text: object<Fields<AgentEvent, 'text'>>({ text: required(text), plain: required(boolean) }),
    reasoning: object<Fields<AgentEvent, 'reasoning'>>({ text: required(text) }),
    tool: object<Fields<AgentEvent, 'tool'>>({ tool: required(text), title: required(text) }),
    'tool-result': object<Fields<AgentEvent, 'tool-result'>>({
      tool: required(text),
      failed: required(boolean),
      denied: droppedIfInvalid(yes),
      subagent: droppedIfInvalid(yes),
    }),
    denied: object<Fields<AgentEvent, 'denied'>>({
      tool: required(text),
      byRule: droppedIfInvalid(yes),
      reason: droppedIfInvalid(text),
      suggestedRule: droppedIfInvalid(text),
      message: required(text),
      allowAllHelps: droppedIfInvalid(yes),
    }),
    usage,
    error,
    stderr: object<Fields<AgentEvent, 'stderr'>>({ text: required(text) }),
  }),
);

/** JSON has no Infinity, which means no limit: it is written as null. */
const limit: Shape<number> = shape((value) => (value === null ? Infinity : number(value)), orNull(number).schema);

const limits: Shape<Limits> = named(
  'Limits',
  object<Limits>({
    maxDurationMs: required(limit),
    untilMs: required(limit),
    maxCostUsd: required(limit),
    maxTokens: required(limit),
    iterationTimeoutMs: required(limit),
    idleTimeoutMs: required(limit),
    maxFailures: required(limit),
    maxStalled: required(limit),
    maxWaitMs: required(limit),
  }),
);

const plan: Shape<RunPlan> = named(
  'RunPlan',
  object<RunPlan>({
    run: required(matching(runId)),
    change: required(text),
    source: withDefault('spool', text),
    module: required(orNull(text)),
    agents: required(agents),
    allowAll: required(boolean),
    sandbox: required(boolean),
    completionPromise: required(text),
    blockedPromise: required(text),
    minIterations: required(count),
    maxIterations: required(limit),
    limits: required(limits),
    failFast: required(boolean),
    commit: required(boolean),
    handover: withDefault(true, boolean),
    ladder: withDefault(false, boolean),
    retryDelayMs: required(number),
    firstIteration: required(count),
    gate: required(gatePlan),
  }),
);

const commandOrigin: Shape<CommandOrigin> = named(
  'CommandOrigin',
  object<CommandOrigin>({
    key: required(oneOf(['harness', 'verify', 'worktreeSetup', 'notify', 'review', 'reviewPrompt'])),
    command: required(text),
    source: required(text),
    setBy: droppedIfInvalid(oneOf(['caller', 'variable', 'project', 'last run'])),
    hash: withFallback(null, orNull(text)),
    trusted: withFallback(null, orNull(text)),
  }),
);

const repository = object<{ readonly branch: string | null }>({ branch: required(orNull(text)) });

export const runEvent: Shape<RunEvent> = named(
  'RunEvent',
  tagged<RunEvent>({
    'run-started': object<Fields<RunEvent, 'run-started'>>({
      plan: required(plan),
      workspace: required(workspace),
      commands: droppedIfInvalid(validItems(commandOrigin)),
      guarded: droppedIfInvalid(validItems(text)),
      format: droppedIfInvalid(text),
      tasks: droppedIfInvalid(orNull(tasks)),
      repository: droppedIfInvalid(orNull(repository)),
      at: required(isoTime),
    }),
    'agent-switched': object<Fields<RunEvent, 'agent-switched'>>({
      switched: required(agentSwitch),
      at: required(isoTime),
    }),
    'iteration-started': object<Fields<RunEvent, 'iteration-started'>>({
      iteration: required(count),
      agent: required(agent),
      at: required(isoTime),
    }),
    agent: object<Fields<RunEvent, 'agent'>>({ event: required(agentEvent) }),
    'tasks-changed': object<Fields<RunEvent, 'tasks-changed'>>({ tasks: required(tasks), at: required(isoTime) }),
    notice: object<Fields<RunEvent, 'notice'>>({
      text: required(text),
      activity: droppedIfInvalid(oneOf(['committing'])),
    }),
    'iteration-finished': object<Fields<RunEvent, 'iteration-finished'>>({
      record: required(parseRecord),
      at: required(isoTime),
    }),
    'attempt-deferred': object<Fields<RunEvent, 'attempt-deferred'>>({
      attempt: required(attempt),
      untilMs: required(epochMs),
      atMs: required(epochMs),
      at: required(isoTime),
    }),
    waiting: object<Fields<RunEvent, 'waiting'>>({
      untilMs: required(epochMs),
      why: required(text),
      at: required(isoTime),
    }),
    requested: object<Fields<RunEvent, 'requested'>>({
      command: required(oneOf(controlCommands)),
      id: droppedIfInvalid(matching(requestId)),
      at: required(isoTime),
    }),
    paused: object<Fields<RunEvent, 'paused'>>({ at: required(isoTime) }),
    resumed: object<Fields<RunEvent, 'resumed'>>({ pausedMs: required(number), at: required(isoTime) }),
    'iteration-pending': object<Fields<RunEvent, 'iteration-pending'>>({
      record: required(parseRecord),
      at: required(isoTime),
    }),
    'gate-started': object<Fields<RunEvent, 'gate-started'>>({ commands: required(listOf(text)) }),
    'review-started': object<Fields<RunEvent, 'review-started'>>({
      iteration: required(count),
      agent: required(agent),
      attempt: required(count),
      at: required(isoTime),
    }),
    reviewer: object<Fields<RunEvent, 'reviewer'>>({ event: required(agentEvent) }),
    'review-finished': object<Fields<RunEvent, 'review-finished'>>({
      iteration: required(count),
      review: required(review),
      at: required(isoTime),
    }),
    'run-ended': object<Fields<RunEvent, 'run-ended'>>({
      reason: required(oneOf(['complete', 'limit', 'failed', 'blocked', 'interrupted'])),
      cause: required(oneOf(causes)),
      detail: required(text),
      allowAllHelps: droppedIfInvalid(yes),
      tasks: required(orNull(tasks)),
      uncommitted: droppedIfInvalid(validItems(uncommitted)),
      changed: droppedIfInvalid(changed),
      changeDeleted: droppedIfInvalid(yes),
      notes: droppedIfInvalid(validItems(text)),
      at: required(isoTime),
    }),
  }),
);

export const journalLine: Shape<JournalLine> = named(
  'JournalLine',
  object<JournalLine>({
    v: required(oneOf([1])),
    seq: required(count),
    at: required(isoTime),
    elapsedMs: withDefault(0, number),
    event: required(runEvent),
    view: droppedIfInvalid<RunView>(parseView),
  }),
);
