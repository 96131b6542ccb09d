import type { SandboxNeeds } from '../process/sandbox-types.ts';
import type { AgentErrorKind, Usage } from '../ralph/agent-events.ts';
import type { AgentMode } from './agent-mode.ts';
import type { DecodedEvent } from './decoded-event.ts';
import type { TranslateRules } from './permissions/own-rules.ts';
import type { Problem } from './problem.ts';

/** An agent CLI, described as data. docs/adding-a-harness.md shows how to add one. */
export interface Harness {
  readonly name: string;
  /** The name of the agent in messages. */
  readonly title: string;
  /** The command that installs it. */
  readonly install: string;
  readonly launch: Launch;
  readonly output: Output;
  /** Set if it speaks the Agent Client Protocol, in which it can stay running between iterations. */
  readonly acp?: Acp;
  /**
   * What its output reports. `denials`: a denied tool is reported even if the agent continues and exits with 0.
   * `capabilitiesIn` returns what it reports in one mode.
   */
  readonly capabilities: readonly Capability[];
  /** How to check whether the user is signed in. */
  readonly auth?: Auth;
  readonly permissions?: OwnPermissions;
  /** What the user can do about an error of each kind. Permission errors use `permissions.howToAllow`. */
  readonly advice?: Readonly<Partial<Record<Exclude<AgentErrorKind, 'permission'>, string>>>;
  /** What it needs in a sandbox. Without this it gets only the work tree. */
  readonly sandbox?: SandboxNeeds;
  /** Only for agents declared in config.json: what the project asks Spool to run. Their version is never queried. */
  readonly custom?: CustomCommand;
}

interface Launch {
  /** Looked up on PATH. */
  readonly binary: string;
  /** The arguments for one turn. The prompt is not among them unless `promptVia` says so. */
  readonly args: (job: Job) => string[] | Promise<string[]>;
  /** Where the prompt goes if not to stdin. Only custom agents use this. */
  readonly promptVia?: 'argument' | 'file';
  /** It has no option for the model. */
  readonly choosesOwnModel?: true;
  /** Variables that make it keep its database in this folder, so that several can run at the same time. */
  readonly isolationEnv?: (folder: string) => Readonly<Record<string, string>>;
}

interface Acp {
  /** It is prompted by the protocol in every mode. Otherwise `launch` describes it in cold mode. */
  readonly only?: true;
  /** Unless the user chooses another. */
  readonly defaultMode: AgentMode;
  /** What it reports by the protocol, if that differs from what its CLI reports. */
  readonly capabilities?: readonly Capability[];
  /** Called for each process, with the environment that it would get and the job of its first turn. */
  readonly start: (env: NodeJS.ProcessEnv, job: Pick<Job, 'model' | 'allowAll'>) => AcpStart | Promise<AcpStart>;
  /** The ID of the mode to work in, if it has several: one in which it asks for permissions. */
  readonly sessionMode?: string;
  /** The mode with --allow-all, if its own sandbox is in the way otherwise. Not used if a rule denies something. */
  readonly allowAllMode?: string;
  /** `start` chooses the model: a session cannot. */
  readonly modelAtStart?: true;
  /** The ID of its option for the model, if that is not of the category "model". */
  readonly modelOption?: string;
  /** It continues when its stdin is closed, so it is ended by a signal. */
  readonly needsSignal?: true;
  readonly quirks?: AcpQuirks;
  /** Files and folders that it reads only when it starts; relative ones are in the folder in which it works. */
  readonly readAtStart?: (env: NodeJS.ProcessEnv) => readonly string[];
}

/** What an agent says differently from the protocol. */
export interface AcpQuirks {
  /** Whether a piece of a message comes from its CLI, not from the model. It is shown, but not searched for the promise. */
  readonly isAside?: (piece: unknown) => boolean;
  /** Whether an update says that the turn has failed (true) or continues (false); null if it says neither. */
  readonly hasFailed?: (update: unknown) => boolean | null;
  /** Whether a tool call has failed because a rule in its own settings denies it. */
  readonly isDenied?: (update: unknown) => boolean;
  /** Its answer to a prompt has the usage of the last step only, so the usage of the turn is unknown. */
  readonly partialUsage?: true;
}

/** How one process is started. */
export interface AcpStart {
  readonly args: readonly string[];
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly details?: AcpDetails;
  /** Called when the process is ready. Resolves to why it must not be used, or to null. */
  readonly whyUnsafe?: (stop: AbortSignal) => Promise<string | null>;
}

/** What an agent reports outside of the protocol. None of these promises reject. */
export interface AcpDetails {
  /** The usage of a session so far; null if it is unknown. */
  readonly usage: (session: string) => Promise<Usage | null>;
  /** What it waits for before it continues, such as the next attempt to reach the model; null for nothing. */
  readonly waiting: (session: string) => Promise<string | null>;
  /** How the last turn ended. */
  readonly ending: (session: string) => Promise<{ readonly problem?: Problem; readonly unfinished?: string }>;
}

interface Output {
  /** Called once per process with the title of the harness. */
  readonly decoder: (title: string) => Decoder;
  /** Exit codes that identify the error. */
  readonly exitCodes?: Readonly<Record<number, AgentErrorKind>>;
  /** Prefixes of lines that the CLI prints after the message of the agent, in plain output. */
  readonly trailer?: readonly string[];
}

type Capability = 'text' | 'tools' | 'tokens' | 'cost' | 'denials';

interface Auth {
  /** The arguments that print whether the user is signed in. */
  readonly args: readonly string[];
  /** Matches the output if the user is not signed in. */
  readonly signedOut: RegExp;
  /** It can work without signing in, with an API key or a custom provider. */
  readonly optional?: true;
  /** The command that signs in. */
  readonly fix: string;
}

interface OwnPermissions {
  /** Turns permission rules of Spool into its own. Without this it is not told any. */
  readonly ownRules?: TranslateRules;
  /** What it cannot do without --allow-all, for the header of a run. */
  readonly defaultRestrictions?: string;
  /** Whether its settings allow any edit or command without --allow-all. */
  readonly isGranted?: (environment: HarnessEnvironment) => boolean;
  /** The setting that allows these tools without --allow-all; for no tools, the setting that lets it work at all. */
  readonly howToAllow?: (tools: readonly string[]) => string;
}

export interface HarnessEnvironment {
  /** The folder in which it would work. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  /** Returns null if the file is missing or is not JSON. */
  readonly readJson: (file: string) => unknown;
}

interface CustomCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly allowAllArgs: readonly string[];
  /** Set if it speaks ACP. */
  readonly acp?: {
    readonly env: Readonly<Record<string, string>>;
    readonly modelOption: string | null;
    readonly mode: string | null;
  };
}

export interface Job {
  readonly model: string | null;
  /** Let the agent use every tool without asking. Otherwise its own permission rules apply. */
  readonly allowAll: boolean;
  /** It reviews the work of another agent, in a folder that is thrown away: it has to read files and run commands. */
  readonly isReview?: boolean;
  /** Asks the installed binary for its version, for flags that not all versions have. Resolves to null if unknown. */
  readonly version: () => Promise<string | null>;
  /** The agent will run as root. */
  readonly asSuperuser: boolean;
  readonly prompt: string;
  /** The file that contains the prompt. */
  readonly promptFile: string;
  /** A name for the session, for agents that list them. */
  readonly title: string;
}

/** Turns the output of one process into events. */
export interface Decoder {
  /** Returns null for a line it does not know. Such a line is treated as plain text, never as an error. */
  stdout(line: string): readonly DecodedEvent[] | null;
  /** Returns the events that a line on stderr implies, in addition to the `stderr` event for the line itself. */
  stderr?(line: string): readonly DecodedEvent[];
  /** Called once, after the last line. */
  end(): readonly DecodedEvent[];
}
