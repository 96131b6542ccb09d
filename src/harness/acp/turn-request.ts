import type { Harness } from '../harness.ts';
import type { AgentTurn, SessionScope } from '../session.ts';

export interface TurnRequest {
  readonly harness: Harness;
  readonly scope: SessionScope;
  readonly turn: AgentTurn;
}
