import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { allowedEnvironment, withoutWithheld } from '../process/scope.ts';
import { pluralise } from '../text/format.ts';
import { commandLine } from '../text/shell-words.ts';
import type { RunSpec } from './spec.ts';

/** The maximum number of errors that are announced. */
const maxShown = 3;

/**
 * Returns lines about errors in the specs of the change, which `spool archive` would reject. They do not stop a run.
 */
export const specNotices = async ({ project, target }: Pick<RunSpec, 'project' | 'target'>): Promise<string[]> => {
  const { root } = project;
  if (target.specs === undefined || !existsSync(join(root, target.specs.delta))) return [];
  const { validateChange } = await import('../changes/validate.ts');
  try {
    const errors = validateChange(target, root).filter(({ level }) => level === 'error');
    if (errors.length === 0) return [];
    const shown = errors
      .slice(0, maxShown)
      .map(({ file, line, message }) => `${file}${line === null ? '' : `:${line}`}: ${message}`);
    const see = commandLine('spool', 'validate', target.id);
    return [...shown, `The change cannot be archived with ${whichErrors(errors.length)}. See: ${see}`];
  } catch {
    // Files that cannot be read are reported by "spool validate".
    return [];
  }
};

const whichErrors = (count: number): string => {
  if (count === 1) return 'this error';
  return count <= maxShown ? 'these errors' : `these and ${pluralise(count - maxShown, 'more error')}`;
};

/**
 * Returns a notice if some variables are not passed on: an agent that needs one of them may fail without a clear error.
 */
export const environmentNotice = (env: NodeJS.ProcessEnv): string[] => {
  const [all, some] = [withoutWithheld(env), allowedEnvironment(env)].map((each) => Object.keys(each).length);
  return all === some ? [] : [`${some} of ${all} variables of the environment are passed on (env.pass).`];
};
