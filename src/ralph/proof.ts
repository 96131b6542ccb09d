/** One acceptance criterion of a change: a scenario of a spec, a numbered criterion, a line of a task file. */
export interface Scenario {
  /** Unique in the change and stable: `login/remember-me/stays-signed-in`. */
  readonly id: string;
  /** The name in the spec. */
  readonly title: string;
  /** The requirement, story or task that it belongs to; null if there is none. */
  readonly requirement: string | null;
  /** Identifies its text. White space and the `**Verify**:` line do not count. */
  readonly hash: string;
  /** Relative to the root. */
  readonly path: string;
  readonly line: number;
  /** Commands of `**Verify**:` lines, in the scenario or in a task that names it. The project provides them. */
  readonly verify: readonly string[];
}

/** `linked`: something could prove it, but has not run. `stale`: its text changed since it was proven. */
export type ScenarioState = 'unlinked' | 'linked' | 'failing' | 'proven' | 'stale';

/** A test or a command that names a scenario, and the result. */
export interface Evidence {
  readonly kind: 'command' | 'test';
  /** The `**Verify**:` command, or the command that wrote the report with the test. */
  readonly command: string;
  readonly exitCode: number | null;
  /** The full title of the test; null for a command. */
  readonly test: string | null;
  /** The file with the test, relative to the root, if it is known. */
  readonly file: string | null;
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'todo' | 'not-run';
}

/** A worker of a queue, as it calls itself, and its attempt at the change. */
export interface ProvingWorker {
  readonly name: string;
  /** null if it is not known. */
  readonly host: string | null;
  readonly epoch: number;
}

/** Evidence that a scenario holds, and where it was true. */
export interface Proof extends Evidence {
  /** The hash of the scenario's text at that time. */
  readonly hash: string;
  readonly run: string;
  readonly iteration: number;
  /** The commit with the work tree that was verified; null without git. */
  readonly checkpoint: string | null;
  /** The commit on the branch; null if there was none. */
  readonly commit: string | null;
  readonly at: string;
  /** Whose gate it was; missing for a gate of this machine. */
  readonly worker?: ProvingWorker;
}

/** A scenario with its state: a row of the ledger. */
export interface ScenarioProof extends Pick<Scenario, 'id' | 'title' | 'requirement' | 'hash'> {
  readonly state: ScenarioState;
  /** One sentence: why it is not proven; null if it is. */
  readonly reason: string | null;
  /** What names the scenario, with the results of the last gate. */
  readonly evidence: readonly Evidence[];
  /** The last proof, even if it is stale; null if there never was one. */
  readonly proof: Proof | null;
  /** With --red-first: whether the evidence failed, or did not exist, before the run. Missing if it was not tried. */
  readonly redFirst?: 'failed' | 'absent' | 'passed' | 'not-tried';
}

/** The ledger of a change, as the gate of an iteration, or a landing after it, has left it. */
export interface Ledger {
  readonly v: 1;
  readonly change: string;
  readonly run: string;
  readonly iteration: number;
  readonly at: string;
  /** Whose gate it was; missing for a gate of this machine. */
  readonly worker?: ProvingWorker;
  /** In the order of the specs. */
  readonly scenarios: readonly ScenarioProof[];
  /** Ids that tests name although the change has no such scenario, with the file or test that names them. */
  readonly unknown: readonly { readonly id: string; readonly where: string }[];
}

/** How many scenarios are in which state; what records, commits and summaries say about a ledger. */
export type ProofCount = Readonly<Record<ScenarioState, number>> & { readonly total: number };
