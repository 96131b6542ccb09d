/** A process to start, before it is put in a sandbox. */
export interface Command {
  readonly binary: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Unique for this process and its children. */
  readonly tag: string;
}

/** What to start instead, to run the command in the sandbox. */
export interface Entered {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** A temporary folder that is writable in the sandbox. */
  readonly tmp: string;
  /** Called with the process id after the start. */
  started(pid: number): void;
  /** Aborted when the sandbox fails: the process must be killed. */
  readonly lost: AbortSignal;
  /** Resolves when no process is left in the sandbox and its files are cleaned up. */
  leave(): Promise<void>;
}

export interface Sandbox {
  /**
   * Gives the command access to the data of `agent`; null for a command of the user. Rejects if the sandbox cannot be
   * entered.
   */
  enter(command: Command, agent: SandboxedAgent | null): Promise<Entered>;
  /** Name and version, such as "sandbox-runtime 0.0.83". */
  readonly description: string;
  /** Returns an unpredictable path for a temporary git index. */
  newFile(): string;
  /** Sets the listener for messages to the user. */
  onNotice(listener: (text: string) => void): void;
  close(): Promise<void>;
}

/** The part of a harness that a sandbox needs. */
export interface SandboxedAgent {
  readonly sandbox?: SandboxNeeds;
}

export interface SandboxNeeds {
  /** The agent's own files and folders, writable in the sandbox. */
  readonly data: (home: string, env: NodeJS.ProcessEnv) => readonly string[];
  /** Those of them that are read-only, because they can run commands or lift permissions at the next start. */
  readonly settings?: (home: string, env: NodeJS.ProcessEnv) => readonly string[];
  /** The same, for files that the agent creates if they are missing. */
  readonly created?: (home: string, env: NodeJS.ProcessEnv) => readonly string[];
  /** The hosts of its models. */
  readonly hosts: readonly string[];
}
