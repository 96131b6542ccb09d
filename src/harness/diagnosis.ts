import type { AgentError, AgentEvent, TurnEnd } from '../ralph/agent-events.ts';
import { maxRedactedLength, type Redactor } from '../secrets/redact.ts';
import { findErrorLine } from './error-line.ts';
import type { DecodedEvent, DenialDetails, DeniedCall, Remedy } from './decoded-event.ts';
import type { Harness } from './harness.ts';
import { maxMessage, notAllowed, problemEvent } from './problem.ts';

/** How many of the last lines are searched for the reason if the events do not report an error. */
const keptLines = 20;
const keptLength = 4000;
const maxLine = 500;

interface DiagnosisOptions {
  readonly allowAll: boolean;
  readonly redactor: Redactor;
  /** Returns what can be done about a call that the agent denied by itself; null for only its own setting. */
  readonly remedyFor?: (call: DeniedCall) => Remedy | null;
}

/**
 * Passes on the events of one process, adds an error if the process failed and no event says why, and adds advice to
 * every error. Agents that are not signed in, or that do not trust the folder, often report it only on stderr and by
 * exit code.
 */
export const createDiagnosis = (harness: Harness, options: DiagnosisOptions, onEvent: (event: AgentEvent) => void) => {
  const { allowAll, redactor } = options;
  /** Longer than they are shown: they are redacted before they are shortened. */
  const stderr: string[] = [];
  const denials = createDenials(harness, options);
  let explained = false;
  let truncated: AgentEvent | null = null;

  // Agents without structured output print their errors on stdout.
  let stdoutEnd = '';
  let hasEvents = false;

  return {
    observe(event: DecodedEvent): void {
      if (event.type === 'stderr' && event.text.trim() !== '')
        stderr.push(event.text.trim().slice(0, maxLine + maxRedactedLength));
      if (stderr.length > keptLines) stderr.shift();
      if (event.type === 'text' && event.plain) stdoutEnd = lastPart(stdoutEnd, event.text);
      if (event.type === 'denied') return onEvent(denials.add(event));
      if (event.type === 'tool' || (event.type === 'text' && !event.plain)) hasEvents = true;
      if (event.type !== 'error') return onEvent(event);
      // Reported only if there is no other error: it does not explain why the output stopped.
      if (event.kind === 'truncated') {
        truncated ??= event;
        return;
      }
      explained = true;
      const message = redactor.beginningOf(event.message, maxMessage);
      onEvent(withAdvice({ ...event, message }, harness, allowAll));
    },
    end({ end, exitCode }: TurnEnd): void {
      if (explained) return;
      if (end === 'exited' && exitCode !== 0) {
        const stdout = linesOf(redactor.endOf(stdoutEnd, keptLength));
        const lines = (all: readonly string[]) => all.map((line) => redactor.beginningOf(line, maxLine));
        const last = { stdout: lines(stdout), stderr: lines(stderr), hasEvents };
        return onEvent(withAdvice(exitProblem(harness, exitCode!, last), harness, allowAll));
      }
      if (truncated && !endedBySpool.has(end)) onEvent(truncated);
    },
  };
};

/** Output that Spool has cut off itself needs no explanation. */
const endedBySpool: ReadonlySet<TurnEnd['end']> = new Set(['interrupted', 'timed-out', 'out-of-budget']);

/** Joins two texts and returns at least what is searched of the end, and as much more as a secret is long. */
const lastPart = (before: string, text: string): string => {
  const length = keptLength + maxRedactedLength;
  if (text.length >= length) return text.slice(-length);
  const all = before + text;
  // Not at every event: each time, the end is copied.
  return all.length < 2 * length ? all : all.slice(-length);
};

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .slice(-keptLines);

interface LastLines {
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  /** It has structured output, so plain lines on stdout are probably not its own. */
  readonly hasEvents: boolean;
}

const exitProblem = (harness: Harness, exitCode: number, { stdout, stderr, hasEvents }: LastLines) => {
  const found = findErrorLine(stderr, { own: true }) ?? findErrorLine(stdout, { own: !hasEvents });
  const line = found?.line ?? stderr.at(-1);
  return problemEvent({
    message: `the agent exited with code ${exitCode}${line === undefined ? '' : `: ${line}`}`,
    kind: harness.output.exitCodes?.[exitCode] ?? found?.kind ?? 'crash',
  });
};

const withAdvice = <Event extends AgentError>(event: Event, harness: Harness, allowAll: boolean): Event => {
  const advice = event.kind === 'permission' ? permissionAdvice(harness, [], allowAll) : harness.advice?.[event.kind];
  return advice ? { ...event, message: `${event.message}; ${advice}` } : event;
};

/** `--allow-all`, unless it was given or does not help, and the agent's own setting. */
const permissionAdvice = (harness: Harness, tools: readonly string[], allowAll: boolean): string => {
  const setting = harness.permissions?.howToAllow?.(tools);
  return [...(allowAll ? [] : ['run with --allow-all']), ...(setting ? [setting] : [])].join(', or ');
};

/** How many tools or rules a message names. */
const maxNamed = 10;

/** Collects the denied tools. The message of each denial names all tools denied so far. */
const createDenials = (harness: Harness, { allowAll, redactor, remedyFor }: DiagnosisOptions) => {
  const tools = new Set<string>();
  /** Tools that only a setting of the agent allows. */
  const unruled = new Set<string>();
  const rules = new Set<string>();
  const reasons = new Set<string>();
  let flagHelps = !allowAll;
  const name = (names: Set<string>, text: string) => {
    if (names.size < maxNamed) names.add(text);
  };

  const shown = (reason: string): string => redactor.oneLine(reason, maxLine);

  /** Returns the rule to add, if there is one. */
  const remedy = (found: Remedy | null, tool: string): string | null => {
    if (found === null) {
      name(unruled, tool);
      return null;
    }
    if ('reason' in found) {
      flagHelps = false;
      name(reasons, shown(found.reason));
      return null;
    }
    // A rule without its secret would not help.
    if (redactor.text(found.add) !== found.add) return null;
    name(rules, JSON.stringify(found.add));
    return found.add;
  };

  const advice = (): string => {
    const setting = unruled.size === 0 ? '' : harness.permissions?.howToAllow?.([...unruled]);
    const remedies = [
      ...(flagHelps ? ['run with --allow-all'] : []),
      ...(rules.size === 0 ? [] : [`add ${[...rules].join(', ')} to "permissions.allow" in .spool/config.json`]),
      ...(setting ? [setting] : []),
    ];
    return [...reasons, ...(remedies.length === 0 ? [] : [remedies.join(', or ')])].map((text) => `; ${text}`).join('');
  };

  return {
    add({ call, remedy: given, reason, ...event }: DecodedEvent & { type: 'denied' } & DenialDetails): AgentEvent {
      const { tool, byRule } = event;
      name(tools, tool);
      if (byRule) flagHelps = false;
      const suggestedRule = remedy(given ?? (call && remedyFor?.(call)) ?? null, tool);
      const message = `${notAllowed(harness.title, [...tools])}${advice()}`;
      return {
        ...event,
        ...(reason !== undefined && { reason: shown(reason) }),
        ...(suggestedRule !== null && { suggestedRule }),
        message,
        ...(flagHelps && { allowAllHelps: true }),
      };
    },
  };
};
