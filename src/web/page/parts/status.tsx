import type { IterationOutcome } from '../../../ralph/outcome.ts';
import type { RunPhase } from '../../../ralph/view.ts';
import type { RowStatus } from '../../api.ts';
import {
  BlockedIcon,
  CheckIcon,
  ClockIcon,
  CrossIcon,
  DotIcon,
  EmptyIcon,
  FlagIcon,
  PauseIcon,
  WarningIcon,
  RunningIcon,
} from './icons.tsx';

/** Chooses the color. */
export type Tone = 'ok' | 'bad' | 'warn' | 'live' | 'quiet';

interface Look {
  readonly word: string;
  readonly tone: Tone;
  readonly Icon: () => preact.JSX.Element;
}

export type ShownStatus = RowStatus | RunPhase;

const statuses: Record<ShownStatus, Look> = {
  running: { word: 'Running', tone: 'live', Icon: RunningIcon },
  paused: { word: 'Paused', tone: 'warn', Icon: PauseIcon },
  waiting: { word: 'Waiting', tone: 'warn', Icon: ClockIcon },
  stopping: { word: 'Stopping', tone: 'warn', Icon: FlagIcon },
  queued: { word: 'Queued', tone: 'quiet', Icon: ClockIcon },
  complete: { word: 'Complete', tone: 'ok', Icon: CheckIcon },
  limit: { word: 'Limit reached', tone: 'warn', Icon: FlagIcon },
  failed: { word: 'Failed', tone: 'bad', Icon: CrossIcon },
  blocked: { word: 'Blocked', tone: 'bad', Icon: BlockedIcon },
  interrupted: { word: 'Interrupted', tone: 'warn', Icon: PauseIcon },
  unreadable: { word: 'Unreadable', tone: 'bad', Icon: CrossIcon },
  none: { word: 'Not run yet', tone: 'quiet', Icon: EmptyIcon },
};

const outcomes: Record<IterationOutcome, Look> = {
  complete: { word: 'Done', tone: 'ok', Icon: CheckIcon },
  rejected: { word: 'Rejected', tone: 'warn', Icon: WarningIcon },
  blocked: { word: 'Gave up', tone: 'bad', Icon: BlockedIcon },
  failed: { word: 'Failed', tone: 'bad', Icon: CrossIcon },
  'checks-failed': { word: 'Checks failed', tone: 'warn', Icon: CrossIcon },
  interrupted: { word: 'Interrupted', tone: 'warn', Icon: PauseIcon },
  progress: { word: 'Worked', tone: 'quiet', Icon: DotIcon },
  'no-changes': { word: 'No changes', tone: 'quiet', Icon: EmptyIcon },
};

export const statusLook = (status: ShownStatus): Look => statuses[status] ?? statuses.none;
export const outcomeLook = (outcome: IterationOutcome): Look => outcomes[outcome] ?? outcomes.progress;

export const Status = ({ status }: { readonly status: ShownStatus }) => <Badge look={statusLook(status)} />;
export const Outcome = ({ outcome }: { readonly outcome: IterationOutcome }) => <Badge look={outcomeLook(outcome)} />;

const Badge = ({ look: { word, tone, Icon } }: { readonly look: Look }) => (
  <span class={`status tone-${tone}`}>
    <Icon />
    {word}
  </span>
);
