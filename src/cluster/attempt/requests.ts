import { requestControl } from '../../store/control.ts';
import type { Held } from '../claims.ts';
import type { Clone } from '../clone.ts';
import type { Database } from '../database.ts';
import { applyContext, readInbox } from '../inbox.ts';
import type { Stopping } from './stopping.ts';

/** What people ask of the run of an attempt. */
export interface Requests {
  /** Hands what is new on to the run, as if it had been sent on this machine. */
  read(): Promise<void>;
  /** The last message that is in the state of the run. */
  applied(): number;
  /** Whether a person has asked to pause (true) or to stop (false); null if nobody has. */
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
  const of = { project: clone.project, change: held.id, env };
  let contextSeq = applied;
  let seen = 0;
  let wantsPause: boolean | null = null;
  /** What the run has yet to be told: it may be starting. */
  let open: 'stop' | 'stop-after-iteration' | null = null;
  const tell = (): void => {
    if (open === 'stop') stopping.stop();
    else if (open !== null && requestControl(of.project, of.change, open, { env }) !== 'sent') return;
    open = null;
  };
  stopping.onAfterIteration(() => {
    open ??= 'stop-after-iteration';
    tell();
  });
  let isReading = false;
  return {
    applied: () => contextSeq,
    wantsPause: () => wantsPause,
    read: async () => {
      if (isReading) return;
      isReading = true;
      try {
        const messages = await readInbox(database, held, seen);
        for (const message of messages) {
          seen = message.seq;
          if (message.kind === 'context' || message.kind === 'clear-context') {
            if (message.seq > contextSeq) applyContext(of, message);
            contextSeq = Math.max(contextSeq, message.seq);
          } else if (message.kind === 'resume') wantsPause = null;
          else {
            wantsPause = message.kind === 'pause' && wantsPause !== false;
            open = message.kind === 'stop' ? 'stop' : (open ?? 'stop-after-iteration');
          }
        }
        tell();
      } finally {
        isReading = false;
      }
    },
  };
};
