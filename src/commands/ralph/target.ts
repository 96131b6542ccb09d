import { userError } from '../../errors.ts';
import type { Options } from '../../config/flags.ts';
import {
  activeChanges,
  changeFolders,
  changeOfFile,
  changesOfModule,
  listChanges,
  resolveChange,
  sourceProblems,
} from '../../changes/sources.ts';
import { sourceFolders, type SourceName, sourceNames } from '../../changes/folders.ts';
import type { Project } from '../../store/project.ts';
import { listModules, moduleIdOf, resolveModule } from '../../changes/modules.ts';
import type { Terminal } from '../../report/terminal.ts';

export type Targets =
  /** `from` is the source of a change that may have no run yet. */
  | { readonly kind: 'changes'; readonly ids: readonly string[]; readonly from?: string }
  /** A change is created from the prompt; `module` is the ID of its module, or null for none. */
  | { readonly kind: 'new'; readonly module: string | null };

export interface TargetRequest {
  readonly options: Pick<Options, 'change' | 'source' | 'file' | 'module' | 'all' | 'new' | 'resume' | 'interactive'>;
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  /** The folder that the path of a task file is relative to. */
  readonly cwd: string;
  /** What a new change would be created from; null if the action needs an existing one. */
  readonly sentence: string | null;
}

/**
 * The changes to work on. A prompt without a target is a new change if there is no active one. Asks only if nothing
 * else decides and the terminal is interactive.
 */
export const chooseTargets = async (project: Project, request: TargetRequest): Promise<Targets> => {
  const { options, terminal, env, cwd, sentence } = request;
  if (options.file !== null) return taskFile(project, options.file, cwd);
  const module = options.module === null ? null : await chosenModule(project, options.module);
  const moduleId = module === null ? null : moduleIdOf(module);
  if (options.new) return { kind: 'new', module: moduleId };
  const source = options.source === null ? null : checkSource(options.source);
  if (options.change.length > 0) return existing(await namedChanges(project, options.change, { module, source }));

  const candidates = moduleId === null ? await listChanges(project, source) : await changesOfModule(project, moduleId);
  if (options.resume) {
    const { lastInterrupted } = await import('./last-interrupted.ts');
    return existing([await lastInterrupted(project, candidates, { terminal, env })]);
  }
  const isUnspecified = module === null && !options.all;
  const canAsk = options.interactive && terminal.canPrompt && isUnspecified;
  // A new change is one of Spool's own.
  if (candidates.length === 0 && isUnspecified && source !== null && source !== 'spool')
    throw userError('no-changes', sourceFolders(project)[source]);
  if (candidates.length === 0 && isUnspecified && sentence !== null) return { kind: 'new', module: null };
  if (candidates.length === 0 && (canAsk || !isUnspecified))
    throw userError('no-changes', module === null ? await changeFolders(project) : `module ${module}`);
  if (!isUnspecified) return existing(candidates);
  if (!canAsk) throw userError('change-required', candidates, sentence !== null);
  const { pick } = await import('../user/pick.ts');
  return pick(project, { sentence, columns: terminal.columns, env });
};

export interface Runnable {
  readonly ids: readonly string[];
  /** A line about each change that is skipped. */
  readonly skipped: readonly string[];
}

/** Leaves out the changes that cannot be run. Throws if none is left. */
export const skipDamaged = async (project: Project, ids: readonly string[]): Promise<Runnable> => {
  const damaged = (await activeChanges(project)).flatMap(({ id, problem }) =>
    problem !== null && ids.includes(id) ? [{ id, problem }] : [],
  );
  if (damaged.length === ids.length) throw userError('usage', damaged[0]!.problem);
  return {
    ids: ids.filter((id) => damaged.every((each) => each.id !== id)),
    skipped: [...(await sourceProblems(project)), ...damaged.map(({ id, problem }) => `Skipped ${id}: ${problem}`)],
  };
};

const taskFile = async (project: Project, given: string, cwd: string): Promise<Targets> => {
  const { id, source } = await changeOfFile(project, given, cwd);
  return { kind: 'changes', ids: [id], from: source };
};

const existing = (ids: readonly string[]): Targets => ({ kind: 'changes', ids });

const namedChanges = async (
  project: Project,
  queries: readonly string[],
  { module, source }: { readonly module: string | null; readonly source: string | null },
): Promise<string[]> => {
  const changes = await Promise.all(queries.map((query) => resolveChange(project, query, source)));
  const inModule = module === null ? changes : await changesOfModule(project, moduleIdOf(module)!);
  const stray = changes.find((change) => !inModule.includes(change));
  if (stray !== undefined) throw userError('module-mismatch', stray, module!);
  return [...new Set(changes)];
};

const checkSource = (name: string): SourceName => {
  const found = sourceNames.find((known) => known === name);
  if (found !== undefined) return found;
  throw userError('bad-value', '--source', `must be ${sourceNames.join(', ')}`, name);
};

/** A module exists if it has changes, even without a folder. */
const chosenModule = async (project: Project, query: string): Promise<string> => {
  const unwritten = listModules(project).every((name) => !name.startsWith(query));
  return unwritten && (await changesOfModule(project, query)).length > 0 ? query : resolveModule(project, query);
};
