/** What another process can ask of a run. `stop` ends the agent as Ctrl-C does, and a second one kills it. */
export const controlCommands = ['stop', 'stop-after-iteration', 'pause', 'resume'] as const;

export type ControlCommand = (typeof controlCommands)[number];

/** The form of the id of a request. */
export const requestId = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** What a run was asked to do and has not done yet. */
export type Requested = Exclude<ControlCommand, 'resume'> | null;

export interface Request {
  readonly command: ControlCommand;
  /**
   * An agent can ask for anything, but it must not lift the pause that a person has asked for. So only a person can
   * resume a run while its agent is working.
   */
  readonly mayResume: boolean;
}

/** Returns what a run still has to do after a request. A stop is final. */
export const afterRequest = (requested: Requested, { command, mayResume }: Request): Requested => {
  switch (command) {
    case 'stop':
      return 'stop';
    case 'stop-after-iteration':
      return requested === 'stop' ? 'stop' : 'stop-after-iteration';
    case 'pause':
      return requested ?? 'pause';
    case 'resume':
      return requested === 'pause' && mayResume ? null : requested;
  }
};

export const asksToStop = (requested: ControlCommand | null): boolean =>
  requested === 'stop' || requested === 'stop-after-iteration';
