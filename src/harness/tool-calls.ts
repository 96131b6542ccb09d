import type { AgentEvent } from '../ralph/agent-events.ts';
import { textAt } from './json.ts';
import type { DeniedCall } from './decoded-event.ts';

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

/** Remembers tool calls by id: results have only the id. */
export interface ToolNames {
  /** Returns the name; `tool` if it is unknown. */
  add(id: string | null, name: string | null, input?: unknown): string;
  of(id: string | null): string;
  /** The call with this id, if its result has not come yet. */
  call(id: string | null): DeniedCall | null;
}

export const createToolNames = (): ToolNames => {
  const names = new Map<string, string>();
  /** Of calls in progress: an input can be a whole file. */
  const inputs = new Map<string, unknown>();
  return {
    add: (id, name, input) => {
      const tool = name ?? 'tool';
      names.set(id ?? '', tool);
      inputs.set(id ?? '', input);
      return tool;
    },
    of: (id) => {
      inputs.delete(id ?? '');
      return names.get(id ?? '') ?? 'tool';
    },
    call: (id) => {
      const [tool, input] = [names.get(id ?? ''), inputs.get(id ?? '')];
      return tool === undefined || input === undefined ? null : { tool, input };
    },
  };
};

/** A part of a message that the decoder does not know. It is shown but not searched for the promise. */
export const unknownPart = (part: unknown): AgentEvent => ({
  type: 'text',
  text: `${JSON.stringify(part)}\n`,
  plain: true,
});
