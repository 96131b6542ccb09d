import type { AgentEvent } from '../ralph/events.ts';

/** An agent CLI, described as data. Adding one is a file like this one, a row in the registry and a test row. */
export interface Harness {
  readonly name: string;
  /** How the agent is called in messages. */
  readonly title: string;
  /** Looked up on PATH. */
  readonly binary: string;
  /** The command that installs it. */
  readonly install: string;
  /** The prompt is not among them: it goes in on stdin. */
  readonly args: (job: Job) => string[];
  readonly decoder: () => Decoder;
}

interface Job {
  readonly model: string | null;
  /** Let the agent use every tool without asking; otherwise its own defaults hold. */
  readonly allowAll: boolean;
  /** A name for the session, where the agent keeps a list of them. */
  readonly title: string;
}

/** Turns the lines of one process into events. */
export interface Decoder {
  /** null for a line that it does not know: that is plain text then, never an error. */
  stdout(line: string): readonly AgentEvent[] | null;
  stderr(line: string): readonly AgentEvent[];
  /** Called once, after the last line. */
  end(): readonly AgentEvent[];
}
