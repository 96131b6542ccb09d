import { resolve } from 'node:path';
import { looksLikeId } from '../../changes/ids.ts';
import { isChangeId, namesActiveChange } from '../../changes/sources.ts';
import type { Options } from '../../config/flags.ts';
import { systemProblem, userError } from '../../errors.ts';
import { readUserFile } from '../../files/user-file.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';

export interface Arguments {
  /** The change that the first argument names; null if it names none. */
  readonly change: string | null;
  /** Empty if there is none. */
  readonly prompt: string;
}

/**
 * The first argument names a change if it has the form of an ID (002, 002-01, 002-01_slug) or is one. Anything else is
 * the prompt, and so is any argument if a flag says what to work on.
 */
export const readArguments = async (
  { args: [first, second], rawFlags }: Pick<Invocation, 'args' | 'rawFlags'>,
  project: Project | null,
): Promise<Arguments> => {
  if (first === undefined) return { change: null, prompt: '' };
  const hasTarget = ['change', 'file', 'module', 'all', 'new'].some((name) => rawFlags[name] !== undefined);
  if (!hasTarget && (await namesChange(first, project))) {
    await checkPrompt(second ?? '', [first], project);
    return { change: first, prompt: second ?? '' };
  }
  if (second === undefined) {
    if (rawFlags.change !== undefined) await checkPrompt(first, [rawFlags.change].flat().map(String), project);
    return { change: null, prompt: first };
  }
  throw userError(
    'usage',
    `Too many arguments for 'ralph': ${JSON.stringify(first)} is not the ID of a change, so only a prompt is expected; quote arguments that contain spaces. See "spool ralph --help".`,
  );
};

const namesChange = async (text: string, project: Project | null): Promise<boolean> =>
  looksLikeId(text) || (project !== null && (await isChangeId(project, text)));

/** Throws if the prompt behind the changes is another change: several changes are named by flags. */
const checkPrompt = async (prompt: string, changes: readonly string[], project: Project | null): Promise<void> => {
  if (project !== null && (await namesActiveChange(project, prompt)))
    throw userError('change-as-prompt', prompt, changes);
};

/** The prompt of the call, or the content of --prompt-file. */
export const readPrompt = async (prompt: string, { promptFile }: Options, cwd: string): Promise<string> => {
  if (promptFile === null) return prompt;
  const text = await readUserFile(resolve(cwd, promptFile)).catch((error: unknown) => {
    throw userError('bad-prompt-file', promptFile, systemProblem(error));
  });
  if (text.trim() === '') throw userError('empty-prompt-file', promptFile);
  return text;
};
