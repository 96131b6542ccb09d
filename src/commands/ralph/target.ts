import { userError } from '../../errors.ts';
import type { Options } from '../../config/flags.ts';
import { changeOf, changesOfModule, listChanges, resolveChange, sourceFolders } from '../../changes/sources.ts';
import type { Project } from '../../store/project.ts';
import { listModules, moduleIdOf, resolveModule } from '../../changes/modules.ts';
import type { Terminal } from '../../report/terminal.ts';

/** The changes to work on. Asks only if no flag selects them and the terminal is interactive. */
export const chooseTargets = async (
  project: Project,
  options: Pick<Options, 'change' | 'module' | 'all' | 'interactive'>,
  terminal: Terminal,
): Promise<string[]> => {
  const module = options.module === null ? null : await chosenModule(project, options.module);
  const moduleId = module === null ? null : moduleIdOf(module);
  if (options.change.length > 0) return namedChanges(project, options.change, module);

  const candidates = moduleId === null ? await listChanges(project) : await changesOfModule(project, moduleId);
  const canAsk = options.interactive && terminal.canPrompt && !options.all;
  if (candidates.length === 0 && (canAsk || module !== null || options.all))
    throw userError('no-changes', module === null ? sourceFolders : `module ${module}`);
  if (options.all || module !== null) return candidates;
  if (!canAsk) throw userError('change-required', candidates);
  const { pick } = await import('./pick.ts');
  return pick(project, candidates);
};

const namedChanges = async (project: Project, queries: readonly string[], module: string | null): Promise<string[]> => {
  const changes = await Promise.all(queries.map((query) => resolveChange(project, query)));
  const stray = changes.find((change) => module !== null && changeOf(project, change).module !== moduleIdOf(module));
  if (stray !== undefined) throw userError('module-mismatch', stray, module!);
  return [...new Set(changes)];
};

/** A module exists if it has changes, even without a folder. */
const chosenModule = async (project: Project, query: string): Promise<string> => {
  const unwritten = listModules(project).every((name) => !name.startsWith(query));
  return unwritten && (await changesOfModule(project, query)).length > 0 ? query : resolveModule(project, query);
};
