import { stripVTControlCharacters } from 'node:util';

/**
 * What a full screen shows, line by line. Each frame begins in the corner of the screen, erases the rest of each line and
 * all that is below, so the last one is all that is there.
 */
export const fullScreenOf = (raw: string): string[] => {
  const frame = raw.split('\u001b[H').findLast((part) => part.includes('\u001b[J')) ?? '';
  const [drawn = ''] = frame.split('\u001b[J');
  return drawn.split('\r\n').map((line) => stripVTControlCharacters(line).trimEnd());
};
