import type { AgentError, AgentEvent } from './agent-events.ts';
import type { DenialReason, Denials } from './record.ts';

const maxDeniedTools = 10;
const maxCalls = 10;

/** Collects denied tools and whether the agent stopped because of them. */
export const createDeniedTools = () => {
  const tools = new Set<string>();
  const calls = new Map<string, DenialReason>();
  let message = '';
  let allowAllHelps: Denials['allowAllHelps'];
  /** There was a message after the last denied call, or any message if that call is unknown. */
  let hasMessage = false;
  let hasPlainText = false;
  const wasDenied = () => tools.size > 0;

  return {
    observe(event: AgentEvent): void {
      if (event.type === 'text' && event.plain) hasPlainText ||= event.text.trim() !== '';
      if (event.type === 'text' && !event.plain) hasMessage ||= event.text.trim() !== '';
      if (event.type === 'tool-result' && event.denied) hasMessage = hasPlainText = false;
      if (event.type !== 'denied') return;
      if (tools.size < maxDeniedTools) tools.add(event.tool);
      ({ message, allowAllHelps } = event);
      const call = reasonOf(event);
      if (call !== null && calls.size < maxCalls) calls.set(JSON.stringify(call), call);
    },
    all: (): Denials | null =>
      wasDenied()
        ? {
            tools: [...tools],
            message,
            ...(allowAllHelps && { allowAllHelps }),
            ...(calls.size > 0 && { calls: [...calls.values()] }),
          }
        : null,
    /** Attributes an otherwise unexplained end to the denial, unless the agent continued after it. */
    problem(problem: AgentError | null, structured: boolean): AgentError | null {
      const hasSpoken = structured ? hasMessage : hasPlainText;
      const unexplained = problem === null || problem.kind === 'truncated' || problem.kind === 'crash';
      const stoppedThere = problem?.kind === 'truncated' || !hasSpoken;
      return wasDenied() && unexplained && stoppedThere ? { kind: 'permission', message } : problem;
    },
  };
};

const reasonOf = ({ tool, reason, suggestedRule }: AgentEvent & { readonly type: 'denied' }): DenialReason | null =>
  reason === undefined && suggestedRule === undefined
    ? null
    : { tool, ...(reason !== undefined && { reason }), ...(suggestedRule !== undefined && { suggestedRule }) };
