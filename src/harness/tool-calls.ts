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

/** Remembers the names of tool calls by id: results have only the id. */
export interface ToolNames {
  /** Returns the name; `tool` if it is unknown. */
  add(id: string | null, name: string | null): string;
  of(id: string | null): string;
}

export const createToolNames = (): ToolNames => {
  const names = new Map<string, string>();
  return {
    add: (id, name) => {
      const tool = name ?? 'tool';
      names.set(id ?? '', tool);
      return tool;
    },
    of: (id) => names.get(id ?? '') ?? 'tool',
  };
};

/** A part of a message that the decoder does not know. It is shown but not searched for the promise. */
export const unknownPart = (part: unknown): AgentEvent => ({
  type: 'text',
  text: `${JSON.stringify(part)}\n`,
  plain: true,
});
