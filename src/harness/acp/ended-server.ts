import type { SessionScope } from '../session.ts';
import type { TurnRequest } from './turn-request.ts';

const announced = new WeakSet<SessionScope>();

/** Says, once per session, why a warm agent gets a new process: with the tools of a turn, a server of it may have ended. */
export const announceEndedServer = ({ harness, scope }: Pick<TurnRequest, 'harness' | 'scope'>): void => {
  if (scope.mode !== 'warm' || announced.has(scope)) return;
  announced.add(scope);
  scope.onNotice(
    `${harness.title} left a shell running that may be one of its servers. Spool ended it, and restarts ${harness.title} after each iteration in which that happens.`,
  );
};
