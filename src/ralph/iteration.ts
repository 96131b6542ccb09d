import { createEchoFilter } from './echo.ts';
import { addUsage, nothingKnown, type AgentEvent, type Ended, type IterationRecord, type Usage } from './events.ts';
import { createPromiseDetector } from './promise.ts';

export type Verdict = Pick<IterationRecord, 'completionFound' | 'rejected' | 'usage' | 'tools' | 'error'>;

/** Watches the events of one iteration and judges them when its process has ended. */
export const watchIteration = (promise: string, prompt: string) => {
  const inMessages = createPromiseDetector(promise);
  const inPlainText = createPromiseDetector(promise);
  const echo = createEchoFilter(prompt);
  const tools = new Map<string, number>();
  let structured = false;
  let usage: Usage | null = null;
  let error: IterationRecord['error'] = null;

  return {
    see(event: AgentEvent): void {
      if (event.type !== 'stderr' && !(event.type === 'text' && event.plain)) structured = true;
      switch (event.type) {
        case 'text':
          if (event.plain) {
            inPlainText.feed(echo.pass(event.text));
            return;
          }
          inMessages.feed(event.text);
          inMessages.endMessage();
          return;
        case 'tool':
          tools.set(event.tool, (tools.get(event.tool) ?? 0) + 1);
          return;
        case 'usage':
          usage = addUsage(usage ?? nothingKnown, event);
          return;
        case 'error':
          error ??= { kind: event.kind, message: event.message };
          return;
        case 'tool-result':
        case 'reasoning':
        case 'stderr':
          return;
      }
    },

    judge(ended: Ended): Verdict {
      inPlainText.feed(echo.end());
      inPlainText.endMessage();
      // From an agent that speaks in events, stray lines are not its words.
      const { found, mentioned } = structured ? inMessages : inPlainText;
      const problem = processProblem(ended) ?? error ?? exitProblem(ended);
      return {
        completionFound: found && problem === null,
        rejected: rejection(found, mentioned, problem),
        usage,
        tools: structured ? Object.fromEntries(tools) : null,
        error: problem,
      };
    },
  };
};

const rejection = (found: boolean, mentioned: boolean, problem: IterationRecord['error']): string | null => {
  if (found) return problem?.message ?? null;
  if (mentioned && problem === null) return 'it was not alone on a line, outside of code and quotes';
  return null;
};

/** What was done to the process explains more than what its output then lacks. */
const processProblem = (ended: Ended): IterationRecord['error'] => {
  switch (ended.end) {
    case 'not-started':
      return { kind: 'start', message: `the agent could not be started: ${ended.problem}` };
    case 'interrupted':
      return { kind: 'crash', message: 'the iteration was interrupted' };
    case 'killed':
      return { kind: 'crash', message: `the agent was killed by ${ended.signal}` };
    case 'exited':
      return null;
  }
};

/** The exit code comes last: the agent's own words say more. */
const exitProblem = ({ exitCode }: Ended): IterationRecord['error'] =>
  exitCode === 0 ? null : { kind: 'crash', message: `the agent exited with code ${exitCode}` };
