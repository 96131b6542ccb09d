import { defaultBlockedPromise } from '../ralph/defaults.ts';
import {
  type AgentChoice,
  type GatePlan,
  type ReviewPlan,
  type Workspace,
  type SettingsAtStart,
} from '../ralph/plan.ts';
import { type AgentError, type Usage } from '../ralph/agent-events.ts';
import type {
  AgentSwitch,
  DenialReason,
  Denials,
  FileChange,
  GateReport,
  GateRun,
  GitSummary,
  DeferredAttempt,
  IterationRecord,
  Phases,
  GateProof,
  RepeatedCall,
  ReviewReport,
  TaskCount,
  Unproven,
} from '../ralph/record.ts';
import type { ProofCount } from '../ralph/proof.ts';
import { scenarioStates } from './ledger-format.ts';
import { requestId } from '../ralph/control.ts';
import { type DiffStat, stopCauses, type Uncommitted } from '../ralph/events.ts';
import type { CommitRange, FailedReview, ReviewTotals } from '../ralph/totals.ts';
import type { Mention } from '../ralph/promise/tags.ts';
import type { RunView } from '../ralph/view.ts';
import { isName } from '../text/names.ts';
import { runId } from './run-id.ts';
import {
  anything,
  named,
  shape,
  withDefault,
  count,
  type Fields,
  boolean,
  listOf,
  mapOf,
  matching,
  isoTime,
  number,
  object,
  oneOf,
  optional,
  orNull,
  required,
  type Shape,
  validItems,
  text,
  epochMs,
  withFallback,
  droppedIfInvalid,
} from '../text/shape.ts';

/*
 * The only way to read what Spool has written to disk, as others can write there too. In state.json, what decides how a
 * run continues (its gate, its limits, its usage) must be valid; what is only shown may be invalid. A line of the history
 * counts if it names its iteration and how that ended.
 */

const run = matching(runId);

/** For a time that is missing. A literal, because the first Date of a process loads the time zones. */
const never = '1970-01-01T00:00:00.000Z';

export const yes: Shape<true> = shape((value) => (value === true ? true : undefined), { const: true });

export const usage: Shape<Usage> = named(
  'Usage',
  object<Usage>({
    inputTokens: withDefault(null, orNull(number)),
    outputTokens: withDefault(null, orNull(number)),
    cacheReadTokens: withDefault(null, orNull(number)),
    cacheWriteTokens: withDefault(null, orNull(number)),
    reasoningTokens: withDefault(null, orNull(number)),
    costUsd: withDefault(null, orNull(number)),
  }),
);

export const tasks: Shape<TaskCount> = named(
  'TaskCount',
  object<TaskCount>({ done: required(count), total: required(count) }),
);

const fileChange: Shape<FileChange> = named(
  'FileChange',
  object<FileChange>({
    status: required(oneOf(['added', 'modified', 'deleted', 'renamed'])),
    path: required(text),
    from: droppedIfInvalid(text),
  }),
);

const git: Shape<GitSummary> = named(
  'GitSummary',
  object<GitSummary>({
    filesChanged: required(count),
    files: withFallback([], validItems(text)),
    insertions: withFallback(0, count),
    deletions: withFallback(0, count),
    changes: withFallback([], validItems(fileChange)),
    commits: withFallback([], validItems(text)),
    filesLeftOut: droppedIfInvalid(count),
    commitsLeftOut: droppedIfInvalid(count),
  }),
);

const errorKinds = [
  'auth',
  'model',
  'rate-limit',
  'overload',
  'context',
  'permission',
  'transport',
  'truncated',
  'timeout',
  'budget',
  'crash',
  'start',
  'unknown',
] as const satisfies readonly AgentError['kind'][];

export const error: Shape<AgentError> = named(
  'AgentError',
  object<AgentError>({
    kind: withFallback('unknown', oneOf(errorKinds)),
    message: required(text),
    resetsAtMs: droppedIfInvalid(epochMs),
  }),
);

const gateRun: Shape<GateRun> = named(
  'GateRun',
  object<GateRun>({
    command: required(text),
    outcome: required(oneOf(['passed', 'flaky', 'failed', 'timed-out', 'interrupted'])),
    exitCode: withFallback(null, orNull(number)),
    durationMs: withFallback(0, number),
    tail: withFallback('', text),
  }),
);

const proofCount: Shape<ProofCount> = named(
  'ProofCount',
  object<ProofCount>({
    unlinked: required(count),
    linked: required(count),
    failing: required(count),
    proven: required(count),
    stale: required(count),
    total: required(count),
  }),
);

const unproven: Shape<Unproven> = object<Unproven>({
  id: required(text),
  title: withFallback('', text),
  state: required(oneOf(scenarioStates)),
  reason: withFallback(null, orNull(text)),
});

const gateProof: Shape<GateProof> = named(
  'GateProof',
  object<GateProof>({
    count: required(proofCount),
    required: droppedIfInvalid(yes),
    unproven: withFallback([], validItems(unproven)),
    unknown: droppedIfInvalid(validItems(text)),
  }),
);

const verdicts = ['pass', 'fail'] as const;

export const review: Shape<ReviewReport> = named(
  'ReviewReport',
  object<ReviewReport>({
    harness: withFallback('', text),
    model: withFallback(null, orNull(text)),
    verdict: required(orNull(oneOf(verdicts))),
    findings: withFallback([], validItems(text)),
    reason: withFallback(null, orNull(text)),
    interrupted: droppedIfInvalid(yes),
    attempts: withFallback(1, count),
    durationMs: withFallback(0, number),
    usage: withFallback(null, orNull(usage)),
    tools: withFallback(null, orNull(mapOf(number))),
    checkpoint: withFallback(null, orNull(text)),
  }),
);

const gateReport: Shape<GateReport> = named(
  'GateReport',
  object<GateReport>({
    passed: required(boolean),
    tampering: withFallback([], validItems(text)),
    openTasks: withFallback([], validItems(text)),
    tamperingCount: droppedIfInvalid(count),
    restore: droppedIfInvalid(validItems(text)),
    accept: droppedIfInvalid(orNull(text)),
    openTaskCount: droppedIfInvalid(count),
    conflicts: droppedIfInvalid(validItems(text)),
    runs: withFallback([], validItems(gateRun)),
    proof: droppedIfInvalid(gateProof),
    review: droppedIfInvalid(review),
  }),
);

const repeated: Shape<RepeatedCall> = object<RepeatedCall>({
  tool: required(text),
  title: required(text),
  times: required(count),
});

const no: Shape<false> = shape((value) => (value === false ? false : undefined), { const: false });

const denials: Shape<Denials> = object<Denials>({
  tools: withFallback([], validItems(text)),
  message: required(text),
  allowAllHelps: droppedIfInvalid(yes),
  calls: droppedIfInvalid(
    validItems(
      object<DenialReason>({
        tool: required(text),
        reason: droppedIfInvalid(text),
        suggestedRule: droppedIfInvalid(text),
      }),
    ),
  ),
});

export const agentSwitch: Shape<AgentSwitch> = named(
  'AgentSwitch',
  object<AgentSwitch>({
    iteration: required(count),
    from: required(text),
    to: required(text),
    rung: required(count),
    why: required(text),
  }),
);

const mention: Shape<Mention> = object<Mention>({ words: required(text), why: required(text) });

const ends = ['exited', 'answered', 'killed', 'interrupted', 'not-started', 'timed-out', 'out-of-budget'] as const;

const attemptFields: Fields<DeferredAttempt> = {
  v: required(oneOf([2])),
  run: required(run),
  iteration: required(count),
  startedAt: withFallback(never, isoTime),
  durationMs: required(number),
  phases: droppedIfInvalid(
    object<Phases>({ agentMs: required(number), gateMs: required(number), spoolMs: required(number) }),
  ),
  harness: withFallback('', text),
  model: withFallback(null, orNull(text)),
  exitCode: withFallback(null, orNull(number)),
  signal: withFallback(null, orNull(text)),
  end: required(oneOf(ends)),
  completionFound: withFallback(false, boolean),
  evidence: withFallback(null, orNull(text)),
  rejected: withFallback(null, orNull(text)),
  mentions: withFallback([], validItems(mention)),
  git: withFallback(null, orNull(git)),
  commit: withFallback(null, orNull(text)),
  commitProblem: withFallback(null, orNull(text)),
  checkpoint: withFallback(null, orNull(text)),
  usage: withFallback(null, orNull(usage)),
  tools: withFallback(null, orNull(mapOf(number))),
  error: withFallback(null, orNull(error)),
  denied: withFallback(null, orNull(denials)),
  blocked: withFallback(null, orNull(text)),
  gate: withFallback(null, orNull(gateReport)),
  tasks: withFallback(null, orNull(tasks)),
  ticked: droppedIfInvalid(validItems(text)),
  repeated: withFallback(null, orNull(repeated)),
  context: droppedIfInvalid(orNull(text)),
  handover: droppedIfInvalid(orNull(text)),
  rung: droppedIfInvalid(count),
  switched: droppedIfInvalid(agentSwitch),
};

export const attempt: Shape<DeferredAttempt> = named('DeferredAttempt', object<DeferredAttempt>(attemptFields));

/** A line of the history; undefined for one that Spool did not write. */
export const parseRecord: Shape<IterationRecord> = named(
  'IterationRecord',
  object<IterationRecord>({
    ...attemptFields,
    deferred: withFallback([], validItems(attempt)),
    usageLeftOut: droppedIfInvalid(orNull(usage)),
  }),
);

/** A forged state.json must not pass a flag to an agent as the name of its model. */
const name: Shape<string> = shape((value) => (isName(text(value) ?? '') ? text(value) : undefined), text.schema);

export const agent: Shape<AgentChoice> = named(
  'AgentChoice',
  object<AgentChoice>({
    harness: required(name),
    model: required(orNull(name)),
  }),
);

/** At least one. */
export const agents: Shape<readonly AgentChoice[]> = shape((value) => {
  const all = listOf(agent)(value);
  return all?.length === 0 ? undefined : all;
}, listOf(agent).schema);

const reviewPlan: Shape<ReviewPlan> = named(
  'ReviewPlan',
  object<ReviewPlan>({
    harness: required(name),
    model: required(orNull(name)),
    max: required(count),
    prompt: withDefault(null, orNull(text)),
    allowAll: withDefault(false, boolean),
  }),
);

export const gatePlan: Shape<GatePlan> = named(
  'GatePlan',
  object<GatePlan>({
    verify: required(listOf(text)),
    verifyEach: withDefault(false, boolean),
    requireTasks: withDefault(false, boolean),
    allowTampering: withDefault(false, boolean),
    // Missing if they are not set, so that the gate of an older run is the same.
    requireScenarios: droppedIfInvalid(yes),
    redFirst: droppedIfInvalid(yes),
    reports: droppedIfInvalid(listOf(text)),
    scenarioCommands: droppedIfInvalid(mapOf(listOf(text))),
    review: optional(reviewPlan),
  }),
);

const limits: Shape<RunView['limits']> = object<RunView['limits']>({
  maxDurationMs: withDefault(null, orNull(number)),
  untilMs: withDefault(null, orNull(epochMs)),
  maxCostUsd: withDefault(null, orNull(number)),
  maxTokens: withDefault(null, orNull(number)),
  iterationTimeoutMs: withDefault(null, orNull(number)),
  idleTimeoutMs: withDefault(null, orNull(number)),
  maxFailures: withDefault(null, orNull(number)),
  maxStalled: withDefault(null, orNull(number)),
  maxWaitMs: withDefault(null, orNull(number)),
});

export const workspace: Shape<Workspace> = named(
  'Workspace',
  object<Workspace>({
    root: required(text),
    branch: required(orNull(text)),
    worktree: required(orNull(text)),
  }),
);

const gateRuns: Shape<RunView['gateRuns']> = object<RunView['gateRuns']>({
  passed: required(count),
  flaky: required(count),
  failed: required(count),
});

const failedReview: Shape<FailedReview> = object<FailedReview>({
  iteration: required(count),
  checkpoint: withFallback(null, orNull(text)),
  findings: withFallback([], validItems(text)),
});

const reviews: Shape<ReviewTotals> = object<ReviewTotals>({
  passed: required(count),
  failed: required(count),
  last: withFallback(null, orNull(failedReview)),
});

const waiting: Shape<NonNullable<RunView['waiting']>> = object<NonNullable<RunView['waiting']>>({
  untilMs: required(epochMs),
  why: required(text),
});

const givenValue: Shape<string | number | readonly string[]> = shape(
  (value) => text(value) ?? number(value) ?? listOf(text)(value),
  { type: ['string', 'number', 'array'] },
);

const settings: Shape<SettingsAtStart> = object<SettingsAtStart>({
  explicit: required(validItems(text)),
  file: required(mapOf(anything)),
  given: droppedIfInvalid(mapOf(givenValue)),
});

export const uncommitted: Shape<Uncommitted> = named(
  'Uncommitted',
  object<Uncommitted>({
    why: required(text),
    files: withFallback([], validItems(text)),
    count: required(count),
    commit: droppedIfInvalid(text),
  }),
);

const commits: Shape<CommitRange> = object<CommitRange>({
  count: required(count),
  first: required(orNull(text)),
  last: required(orNull(text)),
});

export const changed: Shape<DiffStat> = object<DiffStat>({
  files: required(count),
  insertions: required(count),
  deletions: required(count),
});

const statuses = ['running', 'complete', 'limit', 'failed', 'blocked', 'interrupted'] as const;
export const causes = Object.keys(stopCauses) as (keyof typeof stopCauses)[];

/** The content of state.json; undefined if it is damaged. */
export const parseView: Shape<RunView> = named(
  'RunView',
  object<RunView>({
    v: required(oneOf([2])),
    run: required(run),
    change: required(text),
    source: withFallback('spool', text),
    module: withFallback(null, orNull(text)),
    status: required(oneOf(statuses)),
    cause: withFallback(null, orNull(oneOf(causes))),
    detail: withFallback(null, orNull(text)),
    allowAllHelps: withFallback(false, boolean),
    error: withFallback(null, orNull(text)),
    iteration: required(count),
    harness: required(text),
    model: withFallback(null, orNull(text)),
    agents: required(agents),
    allowAll: withFallback(false, boolean),
    sandbox: withDefault(false, boolean),
    completionPromise: required(matching(/\S/)),
    minIterations: required(count),
    maxIterations: withDefault(null, orNull(count)),
    blockedPromise: withDefault(defaultBlockedPromise, matching(/\S/)),
    limits: required(limits),
    gate: required(gatePlan),
    workspace: withDefault(null, orNull(workspace)),
    failFast: withDefault(false, boolean),
    commit: withDefault(true, boolean),
    handover: droppedIfInvalid(no),
    ladder: droppedIfInvalid(yes),
    switched: droppedIfInvalid(agentSwitch),
    tasks: withFallback(null, orNull(tasks)),
    uncommitted: withFallback([], validItems(uncommitted)),
    elapsedMs: withDefault(0, number),
    currentUsage: withFallback(null, orNull(usage)),
    reviewUsage: droppedIfInvalid(orNull(usage)),
    waiting: withFallback(null, orNull(waiting)),
    requested: withFallback(null, orNull(oneOf(['stop', 'stop-after-iteration', 'pause']))),
    requests: droppedIfInvalid(validItems(matching(requestId))),
    pausedAt: withFallback(null, orNull(isoTime)),
    cooldowns: withFallback({}, mapOf(epochMs)),
    pending: withFallback(null, orNull(parseRecord)),
    settings: withFallback(null, orNull(settings)),
    pid: withFallback(0, count),
    startedAt: required(isoTime),
    updatedAt: withFallback(never, isoTime),
    endedAt: withFallback(null, orNull(isoTime)),
    finishedIterations: required(count),
    failures: withDefault(0, count),
    sameErrorCount: withDefault(0, count),
    stalled: withDefault(0, count),
    denied: withDefault(0, count),
    usage: withDefault(null, orNull(usage)),
    deferred: required(listOf(attempt)),
    usageLeftOut: droppedIfInvalid(orNull(usage)),
    deferredSinceMs: withFallback(null, orNull(epochMs)),
    files: withFallback([], validItems(text)),
    filesLeftOut: withFallback(0, count),
    gateRuns: required(gateRuns),
    reviews: droppedIfInvalid(reviews),
    lastError: withFallback(null, orNull(text)),
    tasksDone: withFallback(null, orNull(count)),
    proof: droppedIfInvalid(proofCount),
    commits: droppedIfInvalid(commits),
    changed: droppedIfInvalid(changed),
    changeDeleted: droppedIfInvalid(yes),
  }),
);
