import { failed, type GateReport, type IterationRecord } from './events.ts';
import { isGreen, refusalOf } from './gate.ts';
import type { RunTotals } from './totals.ts';

export interface PreambleOptions {
  readonly iteration?: number;
  /** Infinity when the loop has no such limit. */
  readonly maxIterations?: number;
  readonly minIterations?: number;
  readonly completionPromise?: string;
  /** What the agent promises when it cannot go on. */
  readonly blockedPromise?: string;
  /** What `--add-context` has gathered; blank is as good as none. */
  readonly contextContent?: string | null;
  /** What the agent should know of the iteration before. */
  readonly lastResult?: string | null;
  /** The name of the file in which the agent ticks tasks. */
  readonly tasksFile?: string;
}

export interface PromptOptions extends PreambleOptions {
  readonly changeId?: string;
  readonly changeFolder?: string;
  readonly moduleId?: string;
  readonly proposal?: string | null;
  readonly module?: string | null;
  /** The other files of the change, relative to its folder, in the order in which they should be read. */
  readonly files?: readonly string[];
  /** Whether specs are among the files. */
  readonly hasSpecs?: boolean;
}

/** The whole prompt of one iteration: preamble, context, last result, proposal, module, the user's own words. */
export const buildRalphPrompt = (userPrompt: string, options: PromptOptions): string => {
  const { changeId, moduleId, proposal, module } = options;
  const task = [
    isBlank(proposal) ? null : `## Change Proposal${named(changeId)}\n\n${proposal.trim()}`,
    isBlank(module) ? null : `## Module${named(moduleId)}\n\n${module.trim()}`,
    isBlank(userPrompt) ? null : userPrompt.trim(),
  ].filter((section) => section !== null);
  return `${buildPromptPreamble(options)}\n\n## Your Task\n\n${taskIntroduction(options)}\n\n${task.join(separator)}\n`;
};

/** The rules of the loop, and what is new in this iteration. Ends with a separator. */
export const buildPromptPreamble = ({
  iteration = 1,
  maxIterations,
  minIterations = 1,
  completionPromise = 'COMPLETE',
  blockedPromise = 'BLOCKED',
  contextContent,
  lastResult,
  tasksFile = 'task list',
}: PreambleOptions): string => {
  const sections = [
    rules(
      { completionPromise, blockedPromise, iteration, tasksFile },
      progress(iteration, minIterations, maxIterations),
    ),
    isBlank(contextContent) ? null : `## Additional Context (added by user mid-loop)\n\n${contextContent.trim()}`,
    isBlank(lastResult) ? null : `## Result of Iteration ${iteration - 1}\n\n${lastResult.trim()}`,
  ].filter((section) => section !== null);
  return `${sections.join(separator)}\n\n---`;
};

/** What the next iteration should be told of this one; null when there is nothing worth saying. */
export const describeResult = (
  record: IterationRecord | null,
  totals: Pick<RunTotals, 'stalled' | 'sameErrorCount'>,
) => {
  if (record === null) return null;
  const refused =
    record.commitProblem === null ? null : `What it changed could not be committed:\n\n${fenced(record.commitProblem)}`;
  const signs = stuckSigns(record, totals).map((sign) => sign && beginning(sign));
  const parts = [outcomeOf(record), ...putBack(record.gate), refused, ...signs, ...gateOutput(record.gate)];
  return parts.filter((part) => part !== null).join('\n\n') || null;
};

/** However much a record holds, no more of it is part of a prompt. */
const longestPart = 4000;
const mostOutputs = 5;

const beginning = (text: string) => (text.length > longestPart ? `${text.slice(0, longestPart)}…` : text);
const ending = (text: string) => (text.length > longestPart ? `…${text.slice(-longestPart)}` : text);

const outcomeOf = (record: IterationRecord): string | null => {
  if (record.gate !== null && record.gate.tampering.length > 0)
    return `You printed the promise, but it was not accepted: ${refusalOf(record.gate)}. This says nothing about the rest of your work: leave that as it is, and put back what is named here, whoever changed it. Then print the promise again if it is true.`;
  if (record.rejected !== null)
    return `You printed the promise, but it was not accepted: ${forAgent(record.rejected, record)}. Check that the work is done before you print it again.`;
  if (failed(record))
    return `It failed: ${forAgent(record.error?.message, record)}. Work it left half done may be in the files.`;
  if (record.completionFound)
    return 'You printed the promise, but more iterations were asked for. Check the work once more, with fresh eyes, and improve it.';
  if (record.gate?.passed === false)
    return `It left the work in a state that does not hold: ${beginning(refusalOf(record.gate))}.`;
  return null;
};

/** How a permission can be granted is for a person to read: an agent might grant it to itself. */
const forAgent = (reason: string | undefined, { denied }: IterationRecord): string =>
  denied && reason === denied.message ? 'it stopped at a tool call that was denied' : beginning(reason ?? '');

const putBack = (gate: GateReport | null): string[] => {
  const ways = gate?.restore ?? [];
  return ways.length === 0 ? [] : [`How to restore it:\n\n${ways.map((way) => `- ${way}`).join('\n')}`];
};

/** From how many on it is more than chance. */
const suspicious = 2;

const stuckSigns = (
  { git, repeated, denied }: IterationRecord,
  { stalled, sameErrorCount }: Pick<RunTotals, 'stalled' | 'sameErrorCount'>,
) => [
  stalled >= suspicious
    ? `The last ${stalled} iterations changed no file. What you do does not work: try another way.`
    : git?.filesChanged === 0
      ? 'It changed no file. If you are stuck, try another way.'
      : null,
  denied
    ? `You are not allowed to use ${denied.tools.join(', ')}. Find a way without; if there is none, give up honestly.`
    : null,
  sameErrorCount >= suspicious ? `The same error has come ${sameErrorCount} times in a row.` : null,
  repeated === null
    ? null
    : `It called ${repeated.tool} ${repeated.times} times in a row with the same input (${repeated.title}). Do not repeat that: try another way.`,
];

const gateOutput = (gate: GateReport | null): string[] =>
  (gate?.runs ?? [])
    .filter((run) => !isGreen(run) && run.tail !== '')
    .slice(0, mostOutputs)
    .map((run) => `The end of what "${beginning(run.command)}" printed:\n\n${fenced(run.tail)}`);

/** The end of a text, in a fence that nothing in it can close. */
const fenced = (whole: string): string => {
  const text = ending(whole);
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.trimEnd()}\n${fence}`;
};

const named = (id: string | undefined) => (id ? ` (${id})` : '');

const separator = '\n\n---\n\n';

const progress = (iteration: number, min: number, max: number | undefined) => {
  if (max === undefined) return `Progress: iteration ${iteration} (min: ${min})`;
  return `Progress: iteration ${iteration} / ${max === Infinity ? 'unlimited' : max} (min: ${min})`;
};

/**
 * The tag stands in the middle of a sentence here, where the promise does not count:
 * an agent that merely repeats its instructions has promised nothing.
 */
const rules = (
  { completionPromise, blockedPromise, iteration, tasksFile }: Required<Pick<PreambleOptions, RuleOption>>,
  progressLine: string,
) => `# Ralph Wiggum Loop - Iteration ${iteration}

You are one iteration of a loop. The same task goes to a fresh agent again and again until it is done. You remember nothing of the iterations before: what they did is in the files and in the git log.

${progressLine}

## Instructions

1. Look at the current state first: the task below, the files, \`git status\`, \`git log\`. Part of it may be done already.
2. Keep the todo list current. If the change has a ${tasksFile}, tick a task (\`- [x]\`) when it is done, and add what is missing.
3. Make progress: take the next open piece and finish it. One finished piece is worth more than three half done.
4. Verify it: run the tests, the build, the program itself, and mend what is broken.
5. Only when the whole task is done and verified, print <promise>${completionPromise}</promise> as your last line, alone on that line, without quotes or backticks.

## Critical Rules

- The promise is a statement of fact, and it ends the loop. Print it only when it is completely true; otherwise leave it out and simply stop: another iteration follows.
- Never print the promise to escape, to announce it, or to talk about it.
- Never delete or reword a task, weaken a test or leave a placeholder to make the work look done.
- Stay with the task. Leave work that is not part of it as it is.

## Autonomy Requirements

- Nobody is there to answer. Ask no questions and wait for no approval: decide, note the reason where the next iteration will find it, and go on.
- Start no background work. Whatever you started is ended when you stop.
- If something you need is missing, do all that can be done without it first. Only when nothing is left that you can do, give up honestly: print <promise>${blockedPromise}</promise> alone on its line and, on the next line, what is missing and why. That ends the loop, and a person reads it.`;

type RuleOption = 'completionPromise' | 'blockedPromise' | 'iteration' | 'tasksFile';

/** How many files are named. */
const mostFiles = 20;

const taskIntroduction = ({ changeFolder, files = [], hasSpecs = false }: PromptOptions) => {
  if (changeFolder === undefined) return 'Carry out the following.';
  const start = `Carry out the change below. Its files are in \`${changeFolder}/\``;
  if (files.length === 0) return `${start}.`;
  const names = files.slice(0, mostFiles).map((file) => `- ${file}`);
  const more = files.length > mostFiles ? [`- and ${files.length - mostFiles} more`] : [];
  const specs = hasSpecs ? ' The specs must hold when the change is done.' : '';
  return `${start}; read these as well, in this order:\n\n${[...names, ...more].join('\n')}\n\nThey and the proposal say what is to be done: leave them as they are, but tick tasks and add those that are missing.${specs}`;
};

const isBlank = (text: string | null | undefined): text is null | undefined | '' => !text || text.trim() === '';
