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
  const ref = { project: clone.project, change: held.id, env };
  let appliedContext = applied;
  let lastRead = 0;
  let asked: Asked = { wantsPause: null, untold: null };
  let isReading = false;

  const apply = (message: Message): void => {
    lastRead = message.seq;
    asked = withMessage(asked, message);
    if (message.kind !== 'context' && message.kind !== 'clear-context') return;
    if (message.seq > appliedContext) applyContext(ref, message);
    appliedContext = Math.max(appliedContext, message.seq);
  };
  const tellRun = (): void => {
    const { untold } = asked;
    if (untold === 'stop') stopping.stop();
    else if (untold !== null && requestControl(ref.project, ref.change, untold, { env }) !== 'sent') return;
    asked = { ...asked, untold: null };
  };

  stopping.onAfterIteration(() => {
    asked = { ...asked, untold: asked.untold ?? 'stop-after-iteration' };
    tellRun();
  });
  return {
    applied: () => appliedContext,
    wantsPause: () => asked.wantsPause,
    read: async () => {
      if (isReading) return;
      isReading = true;
      try {
        for (const message of await readInbox(database, held, lastRead)) apply(message);
        tellRun();
      } finally {
        isReading = false;
      }
    },
  };
};

/** What people have asked of the run. */
interface Asked {
  readonly wantsPause: boolean | null;
  /** What the run has yet to be told: it may be starting. */
  readonly untold: 'stop' | 'stop-after-iteration' | null;
}

const withMessage = (asked: Asked, { kind }: Message): Asked => {
  const untold = asked.untold ?? 'stop-after-iteration';
  switch (kind) {
    case 'context':
    case 'clear-context':
      return asked;
    case 'resume':
      return { ...asked, wantsPause: null };
    case 'stop':
      return { wantsPause: false, untold: 'stop' };
    case 'stop-after-iteration':
      return { wantsPause: false, untold };
    case 'pause':
      // A request to stop is not weakened by one to pause.
      return { wantsPause: asked.wantsPause !== false, untold };
  }
};
