import type { SandboxNeeds } from '../process/sandbox.ts';
import type { AgentErrorKind, AgentEvent } from '../ralph/events.ts';

/** An agent CLI, described as data. Adding one is a file like this one, a row in the registry and a test row. */
export interface Harness {
  readonly name: string;
  /** How the agent is called in messages. */
  readonly title: string;
  /** Looked up on PATH. */
  readonly binary: string;
  /** The command that installs it. */
  readonly install: string;
  /** What can be learnt from its output. */
  readonly capabilities: readonly Capability[];
  /** How it can be asked whether it is signed in. */
  readonly signIn?: SignIn;
  /** Variables that give it a database of its own in a folder, so that several can work at the same time. */
  readonly isolationEnv?: (folder: string) => Readonly<Record<string, string>>;
  /** It chooses its model itself. */
  readonly choosesOwnModel?: true;
  /** How lines begin that it prints of its own behind the agent's words, in plain output. */
  readonly trailer?: readonly string[];
  /** It is declared in config.json, and not asked for a version. */
  readonly custom?: CustomCommand;
  /** With --allow-all its flags depend on the version. */
  readonly allowAllDependsOnVersion?: true;
  /** What it cannot do without --allow-all, for the first lines of a run. */
  readonly defaultRestrictions?: string;
  /** Whether its settings allow it any edit or command without --allow-all. */
  readonly isGranted?: (surroundings: HarnessEnvironment) => boolean;
  /** The prompt is not among them: it goes in on stdin, but for agents of the user's own that want it elsewhere. */
  readonly args: (job: Job) => string[];
  readonly prompt?: 'argument' | 'file';
  readonly advice?: Advice;
  /** What it needs in a sandbox; agents of the user's own get nothing but the work tree. */
  readonly sandbox?: SandboxNeeds;
  /** Exit codes that say what was wrong. */
  readonly exitCodes?: Readonly<Record<number, AgentErrorKind>>;
  /** `title` is how the agent is called in messages. */
  readonly decoder: (title: string) => Decoder;
}

/** What config.json says that is run. */
interface CustomCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly allowAllArgs: readonly string[];
}

/** What the user can do about an error of that kind. */
interface Advice extends Readonly<Partial<Record<Exclude<AgentErrorKind, 'permission'>, string>>> {
  /** The way without --allow-all: the exact setting that allows these tools; without any, that allows it to work here. */
  readonly permission?: (tools: readonly string[]) => string;
}

export interface HarnessEnvironment {
  /** The folder in which it would work. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  /** What is in a file; null when it is not there or no JSON. */
  readonly readJson: (file: string) => unknown;
}

interface SignIn {
  readonly args: readonly string[];
  /** Found in an answer that says no. */
  readonly signedOut: RegExp;
  /** It may work all the same, with a key or a provider of the user's own. */
  readonly maybe: boolean;
  /** The command that signs in. */
  readonly fix: string;
}

/** `denials`: a tool that was refused is seen, also when the agent goes on and exits with 0. */
type Capability = 'text' | 'tools' | 'tokens' | 'cost' | 'denials';

export interface Job {
  readonly model: string | null;
  /** Let the agent use every tool without asking; otherwise its own defaults hold. */
  readonly allowAll: boolean;
  /** Of the installed binary, for flags that not all versions have; null when it is not known. */
  readonly version: string | null;
  /** The agent will run as the superuser. */
  readonly asSuperuser: boolean;
  readonly prompt: string;
  /** The file in which the prompt is kept. */
  readonly promptFile: string;
  /** A name for the session, where the agent keeps a list of them. */
  readonly title: string;
}

/** Turns the lines of one process into events. */
export interface Decoder {
  /** null for a line that it does not know: that is plain text then, never an error. */
  stdout(line: string): readonly AgentEvent[] | null;
  /** Events that a line on stderr stands for, in addition to the event for the line itself. */
  stderr?(line: string): readonly AgentEvent[];
  /** Called once, after the last line. */
  end(): readonly AgentEvent[];
}
