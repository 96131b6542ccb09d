import type { AgentEvent } from '../../ralph/agent-events.ts';
import { asObject, field, textAt } from '../json.ts';
import { toolTitle } from '../tool-calls.ts';

interface ToolCall {
  readonly tool: string;
  title: string;
  isReported: boolean;
  isSubagent: boolean;
}

/** The most calls that are followed at the same time. */
const maxOpen = 1000;

/**
 * The tool calls of a turn. They are announced before their input is known, so a call is reported when it starts. Some
 * agents send updates of calls that they never announced.
 */
export const createToolCalls = () => {
  const open = new Map<string, ToolCall>();
  const ended = new Set<string>();
  let count = 0;

  const report = (call: ToolCall): AgentEvent[] => {
    if (call.isReported) return [];
    call.isReported = true;
    count++;
    return [{ type: 'tool', tool: call.tool, title: call.title }];
  };

  const find = (id: string, update: unknown): ToolCall => {
    const known = open.get(id);
    if (known) return known;
    const call = { tool: toolName(update), title: '', isReported: false, isSubagent: false };
    if (open.size < maxOpen) open.set(id, call);
    return call;
  };

  const end = (id: string): void => {
    open.delete(id);
    if (ended.size < maxOpen) ended.add(id);
  };

  return {
    update(update: unknown): AgentEvent[] {
      const id = textAt(update, 'toolCallId') ?? '';
      if (ended.has(id)) return [];
      const call = find(id, update);
      call.title = toolTitle(field(update, 'rawInput')) || call.title || otherTitle(update, call.tool);
      call.isSubagent ||= isSubagent(update);
      const status = textAt(update, 'status');
      if (status === 'completed' || status === 'failed') {
        end(id);
        const subagent = call.isSubagent && ({ subagent: true } as const);
        return [...report(call), { type: 'tool-result', tool: call.tool, failed: status === 'failed', ...subagent }];
      }
      return status === 'pending' || status === null ? [] : report(call);
    },
    /** A call that was not permitted. What the agent reports of it later is ignored. */
    refuse(id: string | null, tool: string, title: string): AgentEvent[] {
      const call = open.get(id ?? '') ?? { tool, title, isReported: false, isSubagent: false };
      call.title ||= title;
      if (id !== null) end(id);
      return [...report(call), { type: 'tool-result', tool: call.tool, failed: true, denied: true }];
    },
    /** Reports the calls that never started. */
    end: (): AgentEvent[] => [...open.values()].flatMap(report),
    count: () => count,
  };
};

/** Some agents announce a call by the name of its tool, others by a sentence or by what the model says about it. */
export const toolName = (call: unknown): string => {
  const named = namedIn(call);
  if (named !== null) return named;
  const title = textAt(call, 'title') ?? '';
  const isSaid = ['description', 'command'].some((key) => textAt(call, 'rawInput', key) === title);
  return /^[\w.-]{1,40}$/.test(title) && !isSaid ? title : (textAt(call, 'kind') ?? 'tool');
};

/** Some agents send what a subagent says as if they said it, so its calls have to be known. */
const isSubagent = (call: unknown): boolean =>
  /^(?:task|agent|subagent)$/i.test(toolName(call)) ||
  ['subagent_type', 'agent_type'].some((key) => textAt(call, 'rawInput', key));

/** Returns the name that an agent gives in a separate field, which never has text of the model; null if there is none. */
export const namedIn = (call: unknown): string | null => {
  const meta = asObject(field(call, '_meta')) ?? {};
  const names = [
    textAt(call, 'name'),
    textAt(call, 'toolName'),
    textAt(meta, 'toolName'),
    ...Object.values(meta).flatMap((each) => [textAt(each, 'toolName'), textAt(each, 'toolCall', 'toolName')]),
  ];
  return names.find((name) => name !== null && /^[\w.:/-]{1,200}$/.test(name)) ?? null;
};

const otherTitle = (update: unknown, tool: string): string => {
  const title = textAt(update, 'title') ?? '';
  return title === tool ? '' : title;
};
