import { type FlagName, flagNames } from './flags.ts';

/**
 * Whether a resumed run keeps the value of a flag, and where that is saved.
 *
 * - `plan`: in the plan of the run.
 * - `workspace`: it decides where the run works, which is saved.
 * - `recorded`: in the settings of the run, if it was set explicitly.
 * - `once on`: in the plan. A resumed run can turn it on, but not off.
 * - null: not kept. It is for one call only, or it is a permission.
 */
type Kept = 'plan' | 'workspace' | 'recorded' | 'once on' | null;

/** Not a column of `flags`, which every command loads. */
const kept = {
  change: null,
  module: null,
  source: null,
  file: null,
  all: null,
  new: null,
  parallel: null,
  interactive: null,
  promptFile: null,
  harness: 'plan',
  model: 'plan',
  agentMode: 'recorded',
  escalate: 'plan',
  handover: 'plan',
  allowAll: null,
  allow: null,
  deny: 'recorded',
  sandbox: 'once on',
  sandboxAllow: null,
  sandboxWrite: null,
  completionPromise: 'plan',
  minIterations: 'plan',
  maxIterations: 'plan',
  maxDuration: 'plan',
  until: 'plan',
  maxCost: 'plan',
  maxTokens: 'plan',
  iterationTimeout: 'plan',
  idleTimeout: 'plan',
  maxFailures: 'plan',
  maxStalled: 'plan',
  maxWait: 'plan',
  verify: 'plan',
  verifyEach: 'plan',
  verifyTimeout: 'recorded',
  requireTasks: 'plan',
  requireScenarios: 'plan',
  redFirst: 'plan',
  report: 'plan',
  allowTampering: null,
  review: 'plan',
  maxReviews: 'plan',
  reviewPrompt: 'plan',
  reviewAllowAll: null,
  blockedPromise: 'plan',
  notify: 'recorded',
  notifyOn: 'recorded',
  failFast: 'plan',
  retryDelay: 'recorded',
  commit: 'plan',
  worktree: 'workspace',
  branch: 'workspace',
  worktreeSetup: 'recorded',
  commitMessage: 'recorded',
  stream: null,
  verbose: null,
  stopGrace: 'recorded',
  json: null,
  detach: null,
  fresh: null,
  resume: null,
  status: null,
  addContext: null,
  clearContext: null,
} as const satisfies Record<FlagName, Kept>;

/** The flags that are kept in one of these ways. */
export type FlagsKept<By extends Kept> = {
  [Name in FlagName]: (typeof kept)[Name] extends By ? Name : never;
}[FlagName];

export const flagsKept = <By extends Kept>(by: By): FlagsKept<By>[] =>
  flagNames.filter((name) => kept[name] === by) as FlagsKept<By>[];
