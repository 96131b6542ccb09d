import { setTimeout as delay } from 'node:timers/promises';
import { readSafely } from '../../files/safe.ts';
import { asksToStop } from '../../ralph/control.ts';
import { isWorking, type RunView } from '../../ralph/view.ts';
import { addContext, clearContext, loadContext } from '../../store/added-context.ts';
import type { ChangeRef } from '../../store/change-ref.ts';
import { iterationPrompt, runFolder } from '../../store/paths.ts';
import { loopOwner, readState } from '../../store/state.ts';
import { refuseAgents } from '../user/refuse-agents.ts';

/** Adds a text to the context of a change. Returns a sentence that says which iteration will read it. */
export const addToContext = async (of: ChangeRef, text: string): Promise<string> => {
  refuseAgents('ralph --add-context');
  addContext(of, text);
  const added = loadContext(of).text?.trim() ?? '';
  return readerOf(of, added);
};

export const clearAddedContext = async (of: ChangeRef): Promise<string> => {
  refuseAgents('ralph --clear-context');
  clearContext(of);
  const view = await currentRun(of);
  const stillHasIt = view && isWorking(view) && (await promptOf(of, view))?.includes('\n## Additional Context (');
  const still = stillHasIt ? ` Iteration ${view.iteration} is still running with it.` : '';
  return `Cleared the context of ${of.change}.${still}`;
};

/** Returns the view of the run that is running now; null if there is none, or if it has not saved one yet. */
const currentRun = async ({ project, change }: ChangeRef): Promise<RunView | null> => {
  const owner = loopOwner(project, change);
  const view = owner && (await readState(project, change));
  return view && view.updatedAt >= owner!.since ? view : null;
};

const readerOf = async (of: ChangeRef, context: string): Promise<string> => {
  if (loopOwner(of.project, of.change) === null) return 'The next run will read it.';
  const view = await currentRun(of);
  if (view === null) return 'The run is starting, and its first iteration will read it.';
  const { iteration, finishedIterations, maxIterations, requested = null } = view;
  if (!isWorking(view) && !asksToStop(requested)) return nextReader(finishedIterations + 1, maxIterations);
  if ((await promptOf(of, view))?.includes(context)) return `Iteration ${iteration} will read it.`;
  if (asksToStop(requested)) return `The run stops after iteration ${iteration}, so the next run will read it.`;
  return nextReader(iteration + 1, maxIterations);
};

const nextReader = (iteration: number, maxIterations: number | null): string =>
  maxIterations !== null && iteration > maxIterations
    ? `Iteration ${maxIterations} is the last one of this run (--max-iterations), so the next run will read it.`
    : `Iteration ${iteration} will read it.`;

/** How long an iteration may take to write its prompt. */
const promptMs = 2000;
const pollMs = 20;

/** Returns the prompt of the current iteration, which has started but may not have written it yet. */
const promptOf = async ({ project, change }: ChangeRef, { run, iteration }: RunView): Promise<string | null> => {
  const path = iterationPrompt(runFolder(project, change, run), iteration);
  const deadline = performance.now() + promptMs;
  for (;;) {
    const prompt = readSafely(path)?.toString('utf8') ?? null;
    if (prompt !== null || performance.now() > deadline) return prompt;
    await delay(pollMs);
  }
};
