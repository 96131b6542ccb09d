import type { AgentEvent } from '../ralph/agent-events.ts';
import { textAt } from './json.ts';

/** A short title for a tool call, taken from its input. */
export const toolTitle = (input: unknown): string => {
  const keys = [
    'command',
    'cmd',
    'file_path',
    'filePath',
    'absolute_path',
    'path',
    'pattern',
    'query',
    'url',
    'description',
  ];
  return keys.map((key) => textAt(input, key)).find((text) => text) ?? '';
};

/** A part of a message that the decoder does not know. It is shown but not searched for the promise. */
export const unknownPart = (part: unknown): AgentEvent => ({
  type: 'text',
  text: `${JSON.stringify(part)}\n`,
  plain: true,
});
