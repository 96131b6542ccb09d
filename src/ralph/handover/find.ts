import { cleanText } from '../promise/clean.ts';
import { fenceIn, openFences } from '../promise/fences.ts';
import { tagPattern } from '../promise/tags.ts';
import { saysNothing } from '../promise/tag-position.ts';
import { blocksIn, type HandoverBlock, withoutTags } from './blocks.ts';

interface Reading {
  readonly completionPromise: string;
  readonly blockedPromise: string;
  readonly prompt: string;
  /** A line that the agent CLI itself prints after the agent's message. */
  readonly isTrailer: (line: string) => boolean;
}

/**
 * Returns the notes with which a message ends; null if there are none. Only a promise, the reason of an agent that gave
 * up, and lines of the agent CLI may follow them.
 */
export const findHandover = (message: string, reading: Reading): string | null => {
  const text = cleanText(message);
  const block = blocksIn(text).at(-1);
  if (!block?.isClosed || !endsMessage(text, block, reading) || isCode(text, block) || isEcho(text, block, reading))
    return null;
  return cleanNotes(block.content) || null;
};

const endsMessage = (text: string, { end }: HandoverBlock, reading: Reading): boolean => {
  const rest = text.slice(end).replaceAll(tagPattern([reading.completionPromise], 'promise'), '');
  const gaveUp = rest.search(tagPattern([reading.blockedPromise], 'promise'));
  return (gaveUp === -1 ? rest : rest.slice(0, gaveUp))
    .split('\n')
    .every((line) => saysNothing(line) || reading.isTrailer(line));
};

/** In a code block with other lines. A fence right around the notes is decoration. */
const isCode = (text: string, { start, end }: HandoverBlock): boolean => {
  const above = text.slice(0, start).split('\n').slice(0, -1);
  if (openFences(above) === 0) return false;
  const isWrapped = fenceIn(above.findLast((line) => line.trim() !== '') ?? '') !== null;
  return (
    !isWrapped &&
    text
      .slice(end)
      .split('\n')
      .some((line) => fenceIn(line) !== null)
  );
};

/** The prompt contains the same block: the agent repeats it, or its CLI prints the prompt. */
const isEcho = (text: string, { start, end }: HandoverBlock, { prompt }: Reading): boolean =>
  bareOf(prompt).includes(bareOf(text.slice(start, end)));

/** Keeps only letters and digits. */
const bareOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, '');

/** Removes control characters, tags, and more than one blank line in a row. Lines end with "\n" only. */
export const cleanNotes = (content: string): string =>
  withoutTags(
    cleanText(content)
      .replaceAll(/[\v\f\u0085]/g, '\n')
      .replaceAll(/(?![\n\t])\p{Cc}/gu, ''),
  )
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
