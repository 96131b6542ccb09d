/** An agent and its model; null for the agent's default model. */
export interface AgentChoice {
  readonly harness: string;
  readonly model: string | null;
}

/** `claude:opus`, as on the command line. */
export const agentKey = ({ harness, model }: AgentChoice): string => (model === null ? harness : `${harness}:${model}`);

/** Where the agents of a run work. */
export interface Workspace {
  /** The folder in which they are started. */
  readonly root: string;
  /** The branch of the run; null for the branch that is checked out. */
  readonly branch: string | null;
  /** The linked worktree; null for the project folder. */
  readonly worktree: string | null;
}

/** The settings of a run, fixed when it starts. */
export interface RunPlan {
  readonly run: string;
  readonly change: string;
  /** The name of the source of the change. */
  readonly source: string;
  readonly module: string | null;
  /** In order of preference, or the rungs of a ladder from the first to the last. */
  readonly agents: readonly AgentChoice[];
  readonly allowAll: boolean;
  /** The agent and the verify commands run in a sandbox. */
  readonly sandbox: boolean;
  readonly completionPromise: string;
  readonly blockedPromise: string;
  readonly minIterations: number;
  readonly maxIterations: number;
  readonly limits: Limits;
  readonly failFast: boolean;
  /** Changes are committed after each iteration. */
  readonly commit: boolean;
  /** Iterations leave notes for the next ones. */
  readonly handover: boolean;
  /** The agents are the rungs of a ladder. Otherwise each is a fallback for those before it. */
  readonly ladder: boolean;
  readonly retryDelayMs: number;
  readonly firstIteration: number;
  readonly gate: GatePlan;
}

/** A command that a run executes, and its origin. */
export interface CommandOrigin {
  readonly key: 'harness' | 'verify' | 'worktreeSetup' | 'notify';
  readonly command: string;
  /** `--verify`, `SPOOL_VERIFY`, `config.json verify`, `the last run`. */
  readonly source: string;
  /** Who set it: the caller (a flag, or a setting of the library), a variable, the project, or the last run. */
  readonly setBy?: 'caller' | 'variable' | 'project' | 'last run';
  /** Hash of the project's setting; null if the command comes from the user. */
  readonly hash: string | null;
  /** When the user trusted it, or `SPOOL_TRUST`. */
  readonly trusted: string | null;
}

/** The checks that a promise must pass. */
export interface GatePlan {
  readonly verify: readonly string[];
  readonly verifyEach: boolean;
  readonly requireTasks: boolean;
  readonly allowTampering: boolean;
  /** Every scenario must be proven. Missing if it need not be. */
  readonly requireScenarios?: true;
  /** What proves a scenario must fail without the change. */
  readonly redFirst?: true;
  /** Patterns of files with test results, relative to the root. */
  readonly reports?: readonly string[];
  /** The `**Verify**:` commands that the user trusts for this run, by the id of the scenario. */
  readonly scenarioCommands?: ScenarioCommands;
}

export type ScenarioCommands = Readonly<Record<string, readonly string[]>>;

/** All commands of a gate, each once. */
export const gateCommands = ({
  verify,
  scenarioCommands = {},
}: Pick<GatePlan, 'verify' | 'scenarioCommands'>): readonly string[] => [
  ...new Set([...verify, ...Object.values(scenarioCommands).flat()]),
];

/** All limits except the number of iterations. Infinity means unlimited. */
export interface Limits {
  readonly maxDurationMs: number;
  /** In milliseconds since 1970. */
  readonly untilMs: number;
  readonly maxCostUsd: number;
  readonly maxTokens: number;
  readonly iterationTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** In a row. */
  readonly maxFailures: number;
  /** Iterations in a row without changes. */
  readonly maxStalled: number;
  /** For a usage limit of the provider. */
  readonly maxWaitMs: number;
}

/** Lets a resumed run detect changed settings. */
export interface SettingsAtStart {
  /** Settings passed by flag or variable in any call of this run. */
  readonly explicit: readonly string[];
  /** Values of the config file for this change, by key, unparsed. */
  readonly file: Readonly<Record<string, unknown>>;
  /** Values of explicit settings that the plan does not contain, by name; missing in older runs. */
  readonly given?: Readonly<Record<string, string | number | readonly string[]>>;
}
