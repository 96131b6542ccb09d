import { stripVTControlCharacters } from 'node:util';

/**
 * Takes an echo of the prompt out of plain output, so that a promise in the task is not taken for the agent's own.
 * A line is an echo when it and the line before it stand one after the other in the prompt.
 */
export interface EchoFilter {
  /** Returns what is left to search; an unfinished line is held back as long as it may still be an echo. */
  pass(text: string): string;
  end(): string;
}

export const createEchoFilter = (prompt: string): EchoFilter => {
  // Without a tag that ends a line, an echo of the prompt cannot look like a promise.
  if (!/<\/promise>[\s*_]*$/m.test(prompt)) return { pass: (text) => text, end: () => '' };
  const places = placesOf(prompt);
  // No echoed line is longer than the longest line of the prompt, save for decoration: longer ones pass at once.
  const longest = prompt.split('\n').reduce((most, line) => Math.max(most, line.length), 0) * 2 + 256;
  let held = '';
  let passing = false;
  let previous: ReadonlySet<number> = new Set();

  const finishLine = (line: string): string => {
    const text = essence(line);
    if (text === '') return line;
    const here = places.get(text) ?? new Set<number>();
    const follows = [...here].some((place) => previous.has(place - 1));
    previous = here;
    // A fence stays, so that what the agent itself wrote is inside or outside of it as before.
    return follows && !/^(```|~~~)/.test(text) ? '' : line;
  };

  const take = (piece: string, endsLine: boolean): string => {
    if (passing) {
      passing = !endsLine;
      return piece;
    }
    held += piece;
    if (!endsLine && held.length <= longest) return '';
    const line = held;
    held = '';
    if (endsLine) return finishLine(line);
    passing = true;
    previous = new Set();
    return line;
  };

  return {
    pass: (text) => {
      let rest = '';
      for (const piece of text.split(/(?<=\n)/)) rest += take(piece, piece.endsWith('\n'));
      return rest;
    },
    end: () => take('', true),
  };
};

/** The non-blank lines of the prompt with the places where they stand. */
const placesOf = (prompt: string): Map<string, Set<number>> => {
  const places = new Map<string, Set<number>>();
  prompt
    .split('\n')
    .map(essence)
    .filter((line) => line !== '')
    .forEach((line, place) => places.set(line, (places.get(line) ?? new Set()).add(place)));
  return places;
};

/** A line without colours, quote bars and indentation. */
const essence = (line: string) =>
  stripVTControlCharacters(line)
    .replace(/^[\s>|│┃]+/, '')
    .trim();

/** How much of the prompt must stand before the tag, white space aside, for it to be no chance. */
const tellingLength = 24;

/** Objects to a tag that comes with the words before it in the prompt, however its lines were broken anew. */
export const objectToEcho = (prompt: string) => {
  let bare: string | null = null;
  return (words: string): string | null => {
    const said = withoutBlanks(words);
    const tag = said.lastIndexOf('<promise>');
    if (tag < tellingLength) return null;
    bare ??= withoutBlanks(prompt);
    return bare.includes(said.slice(tag - tellingLength)) ? 'it repeats the prompt' : null;
  };
};

const withoutBlanks = (text: string) => text.replaceAll(/\s+/g, '');
