import type { AgentError, AgentEvent, Denial, TurnEnd } from '../ralph/events.ts';
import { tellingLine } from './error-line.ts';
import type { Harness } from './harness.ts';
import { notAllowed, problemEvent } from './problem.ts';

/** How many of the last lines are looked at when an agent failed without a word in its events. */
const keptLines = 20;
const keptLength = 4000;
const longestLine = 500;

/**
 * Passes the events of one process on, and says what went wrong where they do not: agents that are not signed in, or
 * that do not trust the folder, often say so only on stderr and by their exit code. Every error gets the way out.
 */
export const createDiagnosis = (harness: Harness, allowAll: boolean, see: (event: AgentEvent) => void) => {
  const stderr: string[] = [];
  const denials = createDenials(harness, allowAll);
  let explained = false;
  let truncated: AgentEvent | null = null;

  // An agent without events says there what others say on stderr.
  let stdoutEnd = '';
  let hasEvents = false;

  return {
    see(event: AgentEvent): void {
      if (event.type === 'stderr' && event.text.trim() !== '') stderr.push(event.text.trim().slice(0, longestLine));
      if (stderr.length > keptLines) stderr.shift();
      if (event.type === 'text' && event.plain)
        stdoutEnd = (event.text.length < keptLength ? stdoutEnd + event.text : event.text).slice(-keptLength);
      if (event.type === 'denied') return see({ ...event, message: denials.add(event) });
      if (event.type === 'tool' || (event.type === 'text' && !event.plain)) hasEvents = true;
      if (event.type !== 'error') return see(event);
      // That it was cut off is the last thing to say: it does not tell why.
      if (event.kind === 'truncated') {
        truncated ??= event;
        return;
      }
      explained = true;
      see(withAdvice(event, harness, allowAll));
    },
    end({ end, exitCode }: TurnEnd): void {
      if (explained) return;
      if (end === 'exited' && exitCode !== 0)
        return see(
          withAdvice(
            exitProblem(harness, exitCode!, { stdout: linesOf(stdoutEnd), stderr, hasEvents }),
            harness,
            allowAll,
          ),
        );
      if (truncated) see(truncated);
    },
  };
};

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim().slice(0, longestLine))
    .filter(Boolean)
    .slice(-keptLines);

interface Said {
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  /** It speaks in events: plain lines on stdout are hardly its own words. */
  readonly hasEvents: boolean;
}

const exitProblem = (harness: Harness, exitCode: number, { stdout, stderr, hasEvents }: Said) => {
  const telling = tellingLine(stderr, { own: true }) ?? tellingLine(stdout, { own: !hasEvents });
  const line = telling?.line ?? stderr.at(-1);
  return problemEvent({
    message: `the agent exited with code ${exitCode}${line === undefined ? '' : `: ${line}`}`,
    kind: harness.exitCodes?.[exitCode] ?? telling?.kind ?? 'crash',
  });
};

const withAdvice = <Event extends AgentError>(event: Event, harness: Harness, allowAll: boolean): Event => {
  const advice = event.kind === 'permission' ? waysOut(harness, [], allowAll) : harness.advice?.[event.kind];
  return advice ? { ...event, message: `${event.message}; ${advice}` } : event;
};

/** How to allow it: the flag, unless it was given or does not help, and the agent's own setting. */
const waysOut = (harness: Harness, tools: readonly string[], allowAll: boolean): string => {
  const setting = harness.advice?.permission?.(tools);
  return [...(allowAll ? [] : ['run with --allow-all']), ...(setting ? [setting] : [])].join(', or ');
};

const mostTools = 10;

/** Gathers what was denied; the sentence that comes last says all of it. */
const createDenials = (harness: Harness, allowAll: boolean) => {
  const tools = new Set<string>();
  let flagHelps = !allowAll;
  return {
    add({ tool, byRule }: Denial): string {
      if (tools.size < mostTools) tools.add(tool);
      if (byRule) flagHelps = false;
      const ways = waysOut(harness, [...tools], !flagHelps);
      return `${notAllowed(harness.title, [...tools])}${ways === '' ? '' : `; ${ways}`}`;
    },
  };
};
