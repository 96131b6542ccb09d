import type { AgentEvent } from '../../ralph/agent-events.ts';

/** In characters. A longer message is passed on in parts. */
const maxPart = 1024 * 1024;

/** Joins the pieces of messages, which may be cut anywhere. */
export const createSaid = () => {
  let kind: 'text' | 'reasoning' = 'text';
  let pieces: string[] = [];
  let length = 0;
  let hasText = false;
  let last = '';
  const flush = (): AgentEvent[] => {
    const text = pieces.join('');
    pieces = [];
    length = 0;
    if (text === '') return [];
    if (kind === 'reasoning') return [{ type: 'reasoning', text }];
    hasText ||= text.trim() !== '';
    last = text;
    return [{ type: 'text', text, plain: false }];
  };
  return {
    add: (of: 'text' | 'reasoning', text: string): AgentEvent[] => {
      const before = kind === of && length < maxPart ? [] : flush();
      kind = of;
      pieces.push(text);
      length += text.length;
      return before;
    },
    flush,
    hasText: () => hasText,
    /** The last message. */
    last: () => last,
  };
};
