import { requestControl } from '../../store/control.ts';
import type { Held } from '../claims.ts';
import type { Clone } from '../clone.ts';
import type { Database } from '../database.ts';
import { applyContext, type Message, readInbox } from '../inbox.ts';
import type { Stopping } from './stopping.ts';

/** What people ask of the run of an attempt. */
export interface Requests {
  /** Hands what is new on to the run, as if it had been sent on this machine. */
  read(): Promise<void>;
  /** The last message that is in the state of the run. */
  applied(): number;
  /** Whether a person has asked to pause (true) or to stop (false); null for neither. */
  wantsPause(): boolean | null;
}

export interface RequestsOptions {
  readonly database: Database;
  readonly env: NodeJS.ProcessEnv;
  readonly held: Held;
  readonly clone: Clone;
  /** The last message that was in the state before. */
  readonly applied: number;
}

export const createRequests = (
  { database, env, held, clone, applied }: RequestsOptions,
  stopping: Stopping,
): Requests => {
  const { project } = clone;
  let appliedContext = applied;
  let lastRead = 0;
  let wantsPause: boolean | null = null;
  /** What the run has yet to be told: it may be starting. */
  let untold: 'stop' | 'stop-after-iteration' | null = null;
  const tellRun = (): void => {
    if (untold === 'stop') stopping.stop();
    else if (untold !== null && requestControl(project, held.id, untold, { env }) !== 'sent') return;
    untold = null;
  };
  const apply = (message: Message): void => {
    switch (message.kind) {
      case 'context':
      case 'clear-context':
        if (message.seq > appliedContext) applyContext({ project, change: held.id, env }, message);
        appliedContext = Math.max(appliedContext, message.seq);
        return;
      case 'resume':
        wantsPause = null;
        return;
      case 'stop':
        wantsPause = false;
        untold = 'stop';
        return;
      case 'stop-after-iteration':
        wantsPause = false;
        untold ??= 'stop-after-iteration';
        return;
      case 'pause':
        // A request to stop is not weakened by one to pause.
        wantsPause = wantsPause !== false;
        untold ??= 'stop-after-iteration';
    }
  };
  stopping.onAfterIteration(() => {
    untold ??= 'stop-after-iteration';
    tellRun();
  });
  let isReading = false;
  return {
    applied: () => appliedContext,
    wantsPause: () => wantsPause,
    read: async () => {
      if (isReading) return;
      isReading = true;
      try {
        for (const message of await readInbox(database, held, lastRead)) {
          lastRead = message.seq;
          apply(message);
        }
        tellRun();
      } finally {
        isReading = false;
      }
    },
  };
};
