import { addNotes, quoteNotes } from '../ralph/handover/notes.ts';
import type { IterationRecord } from '../ralph/record.ts';
import { clearHandover, isHandoverEdited, loadHandover, saveHandover } from '../store/handover.ts';
import type { RunContext } from './context.ts';

/** The notes that iterations leave for the next ones. Without --handover there are none. */
export interface Handover {
  /** Called before the first iteration of a run that continues no earlier one. */
  startOver(): void;
  /** Returns the notes of earlier iterations for a prompt. */
  quoted(): string | null;
  /** Saves the notes of an iteration. Called before its record is saved. */
  add(record: IterationRecord): void;
}

export const createHandover = ({
  project,
  plan,
  env,
  emit,
}: Pick<RunContext, 'project' | 'plan' | 'env' | 'emit'>): Handover => {
  const of = { project, change: plan.change, env };
  let isAnnounced = false;
  const announceEdit = (): void => {
    const isEdited = isHandoverEdited(of);
    if (isEdited && !isAnnounced)
      emit({ type: 'notice', text: 'handover.md was edited. The prompt still uses the notes that Spool has kept.' });
    isAnnounced = isEdited;
  };
  return {
    startOver: () => clearHandover(of),
    quoted: () => {
      if (!plan.handover) return null;
      announceEdit();
      return quoteNotes(loadHandover(of), plan.run);
    },
    add: (record) => {
      if (plan.handover && record.handover) saveHandover(of, addNotes(loadHandover(of), record));
    },
  };
};
