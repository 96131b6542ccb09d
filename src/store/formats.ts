import {
  type AgentChoice,
  type AgentError,
  type Denials,
  type FileChange,
  type GatePlan,
  type GateReport,
  type GateRun,
  type GitSummary,
  type DeferredAttempt,
  type IterationRecord,
  type Workspace,
  type RepeatedCall,
  type SettingsAtStart,
  stopCauses,
  type TaskCount,
  type Uncommitted,
  type Usage,
} from '../ralph/events.ts';
import type { Mention } from '../ralph/promise.ts';
import type { RunView } from '../ralph/view.ts';
import { isName } from '../text/names.ts';
import { runId } from './run-id.ts';
import {
  absentIs,
  count,
  type Fields,
  flag,
  listOf,
  mapOf,
  matching,
  moment,
  number,
  object,
  oneOf,
  orNull,
  required,
  type Shape,
  validItems,
  text,
  time,
  wrongIs,
  wrongIsLeftOut,
} from '../text/shape.ts';

/*
 * The only way to read what Spool has written to disk, as others can write there too. In state.json, what decides how a
 * run continues (its gate, its limits, its usage) must be valid; what is only shown may be invalid. A line of the history
 * counts when it says which iteration it is about and how that ended.
 */

const run = matching(runId);

export const usage: Shape<Usage> = object<Usage>({
  inputTokens: absentIs(null, orNull(number)),
  outputTokens: absentIs(null, orNull(number)),
  cacheReadTokens: absentIs(null, orNull(number)),
  cacheWriteTokens: absentIs(null, orNull(number)),
  reasoningTokens: absentIs(null, orNull(number)),
  costUsd: absentIs(null, orNull(number)),
});

export const tasks: Shape<TaskCount> = object<TaskCount>({ done: required(count), total: required(count) });

const fileChange: Shape<FileChange> = object<FileChange>({
  status: required(oneOf(['added', 'modified', 'deleted', 'renamed'])),
  path: required(text),
  from: wrongIsLeftOut(text),
});

const git: Shape<GitSummary> = object<GitSummary>({
  filesChanged: required(count),
  files: wrongIs([], validItems(text)),
  insertions: wrongIs(0, count),
  deletions: wrongIs(0, count),
  changes: wrongIs([], validItems(fileChange)),
  commits: wrongIs([], validItems(text)),
  filesLeftOut: wrongIsLeftOut(count),
  commitsLeftOut: wrongIsLeftOut(count),
});

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

export const error: Shape<AgentError> = object<AgentError>({
  kind: wrongIs('unknown', oneOf(errorKinds)),
  message: required(text),
  resetsAtMs: wrongIsLeftOut(time),
});

const gateRun: Shape<GateRun> = object<GateRun>({
  command: required(text),
  outcome: required(oneOf(['passed', 'flaky', 'failed', 'timed-out', 'interrupted'])),
  exitCode: wrongIs(null, orNull(number)),
  durationMs: wrongIs(0, number),
  tail: wrongIs('', text),
});

const gateReport: Shape<GateReport> = object<GateReport>({
  passed: required(flag),
  tampering: wrongIs([], validItems(text)),
  openTasks: wrongIs([], validItems(text)),
  tamperingCount: wrongIsLeftOut(count),
  restore: wrongIsLeftOut(validItems(text)),
  accept: wrongIsLeftOut(orNull(text)),
  openTaskCount: wrongIsLeftOut(count),
  conflicts: wrongIsLeftOut(validItems(text)),
  runs: wrongIs([], validItems(gateRun)),
});

const repeated: Shape<RepeatedCall> = object<RepeatedCall>({
  tool: required(text),
  title: required(text),
  times: required(count),
});

export const yes: Shape<true> = (value) => (value === true ? true : undefined);

const denials: Shape<Denials> = object<Denials>({
  tools: wrongIs([], validItems(text)),
  message: required(text),
  allowAllHelps: wrongIsLeftOut(yes),
});

const mention: Shape<Mention> = object<Mention>({ words: required(text), why: required(text) });

const ends = ['exited', 'answered', 'killed', 'interrupted', 'not-started', 'timed-out', 'out-of-budget'] as const;

const attemptFields: Fields<DeferredAttempt> = {
  v: required(oneOf([2])),
  run: required(run),
  iteration: required(count),
  startedAt: wrongIs(new Date(0).toISOString(), moment),
  durationMs: required(number),
  harness: wrongIs('', text),
  model: wrongIs(null, orNull(text)),
  exitCode: wrongIs(null, orNull(number)),
  signal: wrongIs(null, orNull(text)),
  end: required(oneOf(ends)),
  completionFound: wrongIs(false, flag),
  evidence: wrongIs(null, orNull(text)),
  rejected: wrongIs(null, orNull(text)),
  mentions: wrongIs([], validItems(mention)),
  git: wrongIs(null, orNull(git)),
  commit: wrongIs(null, orNull(text)),
  commitProblem: wrongIs(null, orNull(text)),
  checkpoint: wrongIs(null, orNull(text)),
  usage: wrongIs(null, orNull(usage)),
  tools: wrongIs(null, orNull(mapOf(number))),
  error: wrongIs(null, orNull(error)),
  denied: wrongIs(null, orNull(denials)),
  blocked: wrongIs(null, orNull(text)),
  gate: wrongIs(null, orNull(gateReport)),
  tasks: wrongIs(null, orNull(tasks)),
  repeated: wrongIs(null, orNull(repeated)),
};

export const attempt: Shape<DeferredAttempt> = object<DeferredAttempt>(attemptFields);

/** A line of the history; undefined for one that Spool did not write. */
export const parseRecord: Shape<IterationRecord> = object<IterationRecord>({
  ...attemptFields,
  deferred: wrongIs([], validItems(attempt)),
});

/** A forged state.json must not pass a flag to an agent as the name of its model. */
const name: Shape<string> = (value) => (isName(text(value) ?? '') ? text(value) : undefined);

export const agent: Shape<AgentChoice> = object<AgentChoice>({
  harness: required(name),
  model: required(orNull(name)),
});

/** At least one. */
export const agents: Shape<readonly AgentChoice[]> = (value) => {
  const all = listOf(agent)(value);
  return all?.length === 0 ? undefined : all;
};

export const gatePlan: Shape<GatePlan> = object<GatePlan>({
  verify: required(listOf(text)),
  verifyEach: absentIs(false, flag),
  requireTasks: absentIs(false, flag),
  allowTampering: absentIs(false, flag),
});

const limits: Shape<RunView['limits']> = object<RunView['limits']>({
  maxDurationMs: absentIs(null, orNull(number)),
  untilMs: absentIs(null, orNull(time)),
  maxCostUsd: absentIs(null, orNull(number)),
  maxTokens: absentIs(null, orNull(number)),
  iterationTimeoutMs: absentIs(null, orNull(number)),
  idleTimeoutMs: absentIs(null, orNull(number)),
  maxFailures: absentIs(null, orNull(number)),
  maxStalled: absentIs(null, orNull(number)),
  maxWaitMs: absentIs(null, orNull(number)),
});

export const workspace: Shape<Workspace> = object<Workspace>({
  root: required(text),
  branch: required(orNull(text)),
  worktree: required(orNull(text)),
});

const gateRuns: Shape<RunView['gateRuns']> = object<RunView['gateRuns']>({
  passed: required(count),
  flaky: required(count),
  failed: required(count),
});

const waiting: Shape<NonNullable<RunView['waiting']>> = object<NonNullable<RunView['waiting']>>({
  untilMs: required(time),
  why: required(text),
});

const settings: Shape<SettingsAtStart> = object<SettingsAtStart>({
  explicit: required(validItems(text)),
  file: required(mapOf((value) => value)),
});

export const uncommitted: Shape<Uncommitted> = object<Uncommitted>({
  why: required(text),
  files: wrongIs([], validItems(text)),
  count: required(count),
});

const statuses = ['running', 'complete', 'limit', 'failed', 'blocked', 'interrupted'] as const;
export const causes = Object.keys(stopCauses) as (keyof typeof stopCauses)[];

/** The content of state.json; undefined when it is damaged. */
export const parseView: Shape<RunView> = object<RunView>({
  v: required(oneOf([2])),
  run: required(run),
  change: required(text),
  module: wrongIs(null, orNull(text)),
  status: required(oneOf(statuses)),
  cause: wrongIs(null, orNull(oneOf(causes))),
  detail: wrongIs(null, orNull(text)),
  allowAllHelps: wrongIs(false, flag),
  error: wrongIs(null, orNull(text)),
  iteration: required(count),
  harness: required(text),
  model: wrongIs(null, orNull(text)),
  agents: required(agents),
  allowAll: wrongIs(false, flag),
  sandbox: absentIs(false, flag),
  completionPromise: required(matching(/\S/)),
  minIterations: required(count),
  maxIterations: absentIs(null, orNull(count)),
  blockedPromise: absentIs('BLOCKED', matching(/\S/)),
  limits: required(limits),
  gate: required(gatePlan),
  workspace: absentIs(null, orNull(workspace)),
  failFast: absentIs(false, flag),
  commit: absentIs(true, flag),
  tasks: wrongIs(null, orNull(tasks)),
  uncommitted: wrongIs([], validItems(uncommitted)),
  elapsedMs: absentIs(0, number),
  currentUsage: wrongIs(null, orNull(usage)),
  waiting: wrongIs(null, orNull(waiting)),
  cooldowns: wrongIs({}, mapOf(time)),
  pending: wrongIs(null, orNull(parseRecord)),
  settings: wrongIs(null, orNull(settings)),
  pid: wrongIs(0, count),
  startedAt: required(moment),
  updatedAt: wrongIs(new Date(0).toISOString(), moment),
  endedAt: wrongIs(null, orNull(moment)),
  finishedIterations: required(count),
  failures: absentIs(0, count),
  sameErrorCount: absentIs(0, count),
  stalled: absentIs(0, count),
  denied: absentIs(0, count),
  usage: absentIs(null, orNull(usage)),
  deferred: required(listOf(attempt)),
  deferredSinceMs: wrongIs(null, orNull(time)),
  files: wrongIs([], validItems(text)),
  filesLeftOut: wrongIs(0, count),
  gateRuns: required(gateRuns),
  lastError: wrongIs(null, orNull(text)),
  tasksDone: wrongIs(null, orNull(count)),
});
