import { findHandover } from './handover/find.ts';
import { cleanText } from './promise/clean.ts';
import { createEcho } from './promise/echo.ts';
import type { Promises } from './promise/judge-message.ts';
import { createSearch } from './promise/search.ts';
import { saysNothing } from './promise/tag-position.ts';
import { isTrailer } from './promise/trailer.ts';

export interface SpeechOptions extends Promises {
  /** Prefixes of lines that the agent CLI itself prints after the agent's message. */
  readonly trailer?: readonly string[];
}

export type Speech = ReturnType<typeof createSpeech>;

/** What the agent says. If it prints events (`structured`), stray lines of plain text are not its messages. */
export const createSpeech = (
  { trailer, completionPromise, blockedPromise, tagName = 'promise' }: SpeechOptions,
  prompt: string,
) => {
  const promises = { completionPromise, blockedPromise, tagName };

  const inMessages = createSearch(promises, {
    isEcho: createEcho(prompt, 'at length'),
    isTrailer: () => false,
    hint: null,
  });
  const inPlainText = createSearch(promises, {
    isEcho: createEcho(prompt, 'in part'),
    isTrailer: (line) => isTrailer(line, trailer),
    hint: 'if its CLI printed that, set "trailer" for the harness',
  });
  const [lastMessage, lastPlainText] = [createTail(), createTail()];
  /** A tool was called after the last message. Texts without a tool call between them are one message. */
  let hasEnded = false;

  return {
    addPlainText(text: string): void {
      inPlainText.feed(text);
      lastPlainText.add(text);
    },
    addMessage(text: string): void {
      // Neither an empty text nor a lone check mark after a tool call is a message.
      if (text.trim() === '' || (hasEnded && saysNothingAtAll(text))) return;
      if (hasEnded) {
        inMessages.startMessage();
        lastMessage.clear();
      }
      hasEnded = false;
      inMessages.feed(`${text}\n\n`);
      lastMessage.add(`${text}\n\n`);
    },
    endMessage(): void {
      hasEnded = true;
    },
    /** The last message may have been that of a subagent. */
    discardMessage(): void {
      inMessages.startMessage('the agent waited for a subagent, which may have said it');
      lastMessage.clear();
      hasEnded = true;
    },
    promised: () => inMessages.judge().found,
    judge: (structured: boolean) => (structured ? inMessages : inPlainText).judge(),
    handover: (structured: boolean): string | null =>
      structured
        ? findHandover(lastMessage.text(), { ...promises, prompt, isTrailer: () => false })
        : findHandover(lastPlainText.text(), { ...promises, prompt, isTrailer: (line) => isTrailer(line, trailer) }),
    lastWords(structured: boolean): string {
      if (structured) return lastMessage.text();
      const lines = lastPlainText.text().split('\n');
      return lines.filter((line) => !isTrailer(line, trailer)).join('\n');
    },
  };
};

/** In characters: enough for the longest secret before the last sentence, so that it can be recognised. */
const maxTail = 40_000;

/** The end of a text that arrives in parts. */
const createTail = () => {
  let parts: string[] = [];
  let length = 0;
  const join = () => parts.join('').slice(-maxTail);
  return {
    add(text: string): void {
      // Joining would copy what is dropped.
      if (text.length >= maxTail) parts = [];
      parts.push(text.slice(-maxTail));
      length = text.length >= maxTail ? maxTail : length + text.length;
      if (length < 2 * maxTail) return;
      parts = [join()];
      length = maxTail;
    },
    clear(): void {
      parts = [];
      length = 0;
    },
    text: join,
  };
};

const saysNothingAtAll = (text: string): boolean => cleanText(text).split('\n').every(saysNothing);
