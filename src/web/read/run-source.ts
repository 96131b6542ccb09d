import type { FollowedEvent } from '../../store/follow.ts';
import type { IterationRecord } from '../../ralph/record.ts';
import type { ComparedCheckpoints } from '../../store/saved-checkpoints.ts';
import type { ConversationPage, IterationSummary, RunDetail, TaskItem, TextPage } from '../api.ts';
import type { TextRequest } from './text-page.ts';

export interface FollowRequest {
  readonly fromIteration: number;
  readonly signal: AbortSignal;
  /** Called whenever all that there is has been read. */
  readonly onIdle: () => void;
}

export interface ConversationRequest {
  readonly iteration: number;
  /** Cursors of an earlier page; null for none. */
  readonly after: string | null;
  readonly before: string | null;
}

/** One run, on this machine or on another one. */
export interface RunSource {
  readonly change: string;
  readonly run: string;
  detail(): Promise<RunDetail>;
  /** In order. */
  iterations(): Promise<readonly IterationSummary[]>;
  record(iteration: number): Promise<IterationRecord | null>;
  conversation(request: ConversationRequest): Promise<ConversationPage>;
  /** null if there is no such file. */
  text(iteration: number, what: 'prompt' | 'log', request: TextRequest): Promise<TextPage | null>;
  /** Refuses if there are none that can be compared. */
  checkpoints(): Promise<ComparedCheckpoints>;
  tasks(): Promise<readonly TaskItem[] | null>;
  follow(request: FollowRequest): AsyncIterable<FollowedEvent>;
  /** Changes when the run may have been resumed, or followed by another one. */
  stamp(): Promise<string>;
}
