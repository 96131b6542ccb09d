import type { Terminal } from '../report/terminal.ts';

/** A command as the command line sees it. What it does is imported when it is called. */
export interface Command {
  readonly name: string;
  readonly alias?: string;
  readonly summary: string;
  readonly argument?: Argument;
  readonly second?: Argument;
  readonly options: readonly CommandOption[];
  readonly examples: readonly string[];
  readonly load: () => Promise<{ run: (call: Invocation) => Promise<number> }>;
}

interface Argument {
  readonly name: string;
  readonly help: string;
  readonly optional?: true;
}

export interface CommandOption {
  /** The key under which a call finds it. */
  readonly name: string;
  /** As the user types it: `--module <id>`. */
  readonly flags: string;
  readonly help: string;
  readonly aliases?: readonly string[];
  readonly fallback?: string;
  /** May be given more than once; the call then finds a list. */
  readonly repeats?: boolean;
}

/** One call of a command. `run` answers with the exit code. */
export interface Invocation {
  readonly argument: string | undefined;
  readonly second: string | undefined;
  /** Only what was typed. */
  readonly rawFlags: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Terminal;
}
