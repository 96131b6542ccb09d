import type { HandoverNotes } from '../ralph/handover/notes.ts';
import type { IterationRecord } from '../ralph/record.ts';
import { oneLine } from './shorten.ts';

const maxLines = 4;
const maxColumns = 160;

/** The first lines of the last notes of these iterations, or else of earlier runs. */
export const handoverLines = (records: readonly IterationRecord[], kept: HandoverNotes | undefined): string[] => {
  const last = records.findLast(({ handover }) => handover);
  if (last !== undefined) return noteLines(`notes of iteration ${last.iteration}:`, last.handover!);
  const earlier = kept?.notes.at(-1);
  return earlier === undefined
    ? []
    : noteLines(`notes of iteration ${earlier.iteration} of an earlier run:`, earlier.text);
};

const noteLines = (title: string, text: string): string[] => {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const shown = lines.length > maxLines + 1 ? lines.slice(0, maxLines) : lines;
  const more = lines.length - shown.length;
  return [
    title,
    ...shown.map((line) => oneLine(line.trimEnd(), maxColumns)),
    ...(more > 0 ? [`and ${more} more lines`] : []),
  ];
};
