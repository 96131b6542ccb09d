/** A process as it would be started without a sandbox. */
export interface Command {
  readonly binary: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Unique for this process and its children. */
  readonly tag: string;
}

/** The same process in the sandbox: what to start in its place. */
export interface Entered {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** A temporary folder that can be written inside. */
  readonly tmp: string;
  /** Called with the id of the process once it was started. */
  started(pid: number): void;
  /** Aborted when the sandbox broke down: the process must be killed. */
  readonly lost: AbortSignal;
  /** Resolves when nothing is left inside, and what it left behind is cleaned up. */
  leave(): Promise<void>;
}

export interface Sandbox {
  /** `agent`: whose own data may be read and written inside; null for the user's commands. Rejects when it cannot be entered. */
  enter(command: Command, agent: SandboxedAgent | null): Promise<Entered>;
  /** What it is, such as "sandbox-runtime 0.0.83". */
  readonly about: string;
  /** A path that git can be given for an index of our own; nobody knows it before. */
  newFile(): string;
  /** From now on, what a person should know is told here. */
  tell(listener: (text: string) => void): void;
  /** Ends what belongs to it. */
  close(): Promise<void>;
}

/** An agent, as far as a sandbox is concerned. */
export interface SandboxedAgent {
  readonly sandbox?: SandboxNeeds;
}

export interface SandboxNeeds {
  /** Files and folders of its own in which it writes. */
  readonly data: (home: string, env: NodeJS.ProcessEnv) => readonly string[];
  /** What of them runs commands, or lifts permissions, when it is started the next time: it can be read only. */
  readonly settings?: (home: string, env: NodeJS.ProcessEnv) => readonly string[];
  /** The same of what it creates itself when it is not there. */
  readonly created?: (home: string, env: NodeJS.ProcessEnv) => readonly string[];
  /** Where its models are. */
  readonly hosts: readonly string[];
}
