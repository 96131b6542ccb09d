import { stripVTControlCharacters } from 'node:util';

/**
 * Finds `<promise>TEXT</promise>` in an agent's words, however they are cut into chunks, in constant memory.
 * White space around TEXT and ANSI codes anywhere do not matter; TEXT itself is literal.
 * The tag counts alone on its line or behind the end of a sentence. In code, in a quotation or a list, in the middle of
 * a sentence, or with anything but blanks and emphasis marks behind it on its line, it is talk about the promise.
 */
export interface PromiseDetector {
  feed(text: string): void;
  /** The words so far were a whole message: an open line or code fence ends here. */
  endMessage(): void;
  readonly found: boolean;
  /** The words up to the tag that was found. */
  readonly evidence: string | null;
}

/** A tag that does not count. */
export interface Mention {
  /** The words up to it, and the tag. */
  readonly words: string;
  readonly why: string;
}

/** How much of the text up to a tag is kept with it. */
const wordsKept = 300;

export interface DetectorHooks {
  /** Called for every tag that does not count. */
  readonly mentioned?: (mention: Mention) => void;
  /** Why these words, which end with a tag that would count, do not; null when they do. */
  readonly objection?: (words: string) => string | null;
}

export const createPromiseDetector = (
  promise: string,
  { mentioned = () => {}, objection = () => null }: DetectorHooks = {},
): PromiseDetector => {
  const word = promise.trim();
  const pattern = `<promise>${word}</promise>`;
  const wordStart = '<promise>'.length;
  const closeStart = wordStart + word.length;
  const ansi = createAnsiSkipper();
  const fence = createFenceTracker();
  const line = createLineTracker();
  let matched = 0;
  let misplaced: string | null = null;
  let pending = false;
  let found = false;
  let words = '';
  let chunk = '';
  let index = 0;
  let before = '';
  let evidence: string | null = null;
  const upToHere = () => `${before}${chunk.slice(Math.max(0, index + 1 - wordsKept), index + 1)}`.slice(-wordsKept);

  const match = (char: string): void => {
    if (isBlank(char) && (matched === wordStart || matched === closeStart)) return;
    if (char === pattern[matched]) matched++;
    else matched = char === '<' ? 1 : 0;
    if (matched === 1) misplaced = whereItStands();
    if (matched < pattern.length) return;
    matched = 0;
    pending = misplaced === null;
    words = upToHere();
    if (misplaced !== null) mentioned({ words: words.trim(), why: misplaced });
  };

  const whereItStands = (): string | null => {
    if (fence.inside || line.inCode) return 'it stood in code';
    if (line.quoted) return 'it was quoted';
    return line.isEmpty || line.endsSentence ? null : 'it stood in the middle of a sentence';
  };

  const endLine = (): void => {
    fence.endLine();
    line.end();
    // The line that opens a fence is part of it.
    const why = fence.inside ? 'it stood in code' : pending ? objection(words) : null;
    if (pending && why !== null) mentioned({ words: words.trim(), why });
    else if (pending) {
      found = true;
      evidence = stripVTControlCharacters(words).trimStart();
    }
    pending = false;
  };

  const see = (char: string): void => {
    if (pending && !isTrailing(char)) {
      pending = false;
      mentioned({ words: words.trim(), why: 'there was more behind it on its line' });
    }
    if (char === '\n') endLine();
    match(char);
    if (char === '\n') return;
    fence.see(char);
    line.see(char);
  };

  return {
    feed(text) {
      before = `${before}${chunk.slice(-wordsKept)}`.slice(-wordsKept);
      chunk = text;
      const dull = !text.includes('<') && !text.includes('`') && !text.includes('~') && !text.includes('\u001b');
      // Looking for the last one takes long where there is none.
      const lastLine = text.includes('\n') ? text.lastIndexOf('\n') + 1 : 0;
      for (index = 0; index < text.length && !found; index++) {
        // Most output has nothing to do with a promise: what cannot matter is not looked at one by one.
        if (matched === 0 && !pending && ansi.idle) {
          const from = index;
          if (dull && fence.atLineStart && index < lastLine) {
            line.end();
            index = lastLine;
          } else if (fence.lineIsDull) {
            index = dull ? lineEndIn(text, index) : nextOfInterest(text, index);
            line.skip(text, from, index);
          }
          if (index >= text.length) return;
        }
        const char = text[index]!;
        if (!ansi.skips(char)) see(char);
      }
    },
    endMessage() {
      endLine();
      before = '';
      chunk = '';
      fence.reset();
      ansi.reset();
      matched = 0;
    },
    get found() {
      return found;
    },
    get evidence() {
      return evidence;
    },
  };
};

const interesting = /[<`\n\u001b]/g;

const nextOfInterest = (text: string, from: number): number => {
  interesting.lastIndex = from;
  return interesting.exec(text)?.index ?? text.length;
};

const lineEndIn = (text: string, from: number): number => {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
};

const isBlank = (char: string) => /\s/.test(char);

const isTrailing = (char: string) => isBlank(char) || char === '*' || char === '_';

/** Follows the line in which a tag may stand: is a backtick open, and is the text so far a whole sentence? */
const createLineTracker = () => {
  let backtickOpen = false;
  let previous = '';
  let indent = 0;
  let first = '';
  /** The last characters that are more than white space and emphasis. */
  let ink = '';

  const see = (char: string): void => {
    if (char === '`' && previous !== '`') backtickOpen = !backtickOpen;
    previous = char;
    if (first === '' && isBlank(char)) indent += char === '\t' ? 4 : 1;
    else if (first === '') first = char;
    if (!isTrailing(char)) ink = (ink + char).slice(-3);
  };

  return {
    see,
    /** Takes text without backticks; only its last ink matters. */
    skip(text: string, from: number, to: number): void {
      let last = to - 1;
      while (last > from && isTrailing(text[last]!)) last--;
      for (let index = Math.max(from, last - 2); index <= last; index++) see(text[index]!);
    },
    end(): void {
      backtickOpen = false;
      previous = '';
      indent = 0;
      first = '';
      ink = '';
    },
    /** Also on a line that is indented as code is. */
    get inCode() {
      return backtickOpen || indent >= 4;
    },
    get quoted() {
      return first === '>';
    },
    get isEmpty() {
      return ink === '';
    },
    /** A full stop behind a single letter ("e.g.") or another one ("...") ends no sentence. */
    get endsSentence() {
      return /[^.][^.]\.$|[!\u3002]$/.test(ink);
    },
  };
};

/** Says of each character whether it belongs to an escape sequence (CSI, OSC, or two characters). */
const createAnsiSkipper = () => {
  let state: 'text' | 'escape' | 'csi' | 'osc' = 'text';
  return {
    skips(char: string): boolean {
      switch (state) {
        case 'text':
          if (char !== '\u001b') return false;
          state = 'escape';
          return true;
        case 'escape':
          // Intermediate characters, as in the "ESC ( B" of `tput sgr0`, are followed by one more.
          if (char < ' ' || char > '/') state = char === '[' ? 'csi' : char === ']' ? 'osc' : 'text';
          return true;
        case 'csi':
          if (char >= '@' && char <= '~') state = 'text';
          return true;
        case 'osc':
          if (char === '\u0007') state = 'text';
          if (char === '\u001b') state = 'escape';
          if (char !== '\n') return true;
          state = 'text';
          return false;
      }
    },
    reset() {
      state = 'text';
    },
    get idle() {
      return state === 'text';
    },
  };
};

/** Follows Markdown code fences, also inside lists and quotes. The line that opens one is part of it. */
const createFenceTracker = () => {
  let open: { char: string; length: number } | null = null;
  let part: 'lead' | 'marker' | 'rest' = 'lead';
  let char = '';
  let length = 0;
  let restIsBlank = true;
  let restHasBacktick = false;

  const startLine = () => {
    part = 'lead';
    length = 0;
    restIsBlank = true;
    restHasBacktick = false;
  };

  return {
    see(next: string): void {
      if (part === 'lead') {
        if (next === '`' || next === '~') {
          part = 'marker';
          char = next;
          length = 1;
        } else if (!/[\s>*_#+\-\d.)]/.test(next)) part = 'rest';
        return;
      }
      if (part === 'marker' && next === char) {
        length++;
        return;
      }
      part = 'rest';
      if (!isBlank(next)) restIsBlank = false;
      if (next === '`') restHasBacktick = true;
    },
    endLine(): void {
      const opens = length >= 3 && !(char === '`' && restHasBacktick);
      if (open === null) {
        if (opens) open = { char, length };
      } else if (char === open.char && length >= open.length && restIsBlank) open = null;
      startLine();
    },
    reset(): void {
      open = null;
      startLine();
    },
    get inside() {
      return open !== null;
    },
    /** Nothing but blanks and the marks of lists and quotes so far. */
    get atLineStart() {
      return part === 'lead';
    },
    /** The rest of this line cannot open or close a fence. */
    get lineIsDull() {
      return part === 'rest' && length < 3;
    },
  };
};
