import { basename, join } from 'node:path';
import { userError, type UserError } from '../errors.ts';
import { checkFileInside, ignoredFoldersInside, isFolderInside } from '../files/inside.ts';
import type { Project } from '../store/project.ts';
import { changesWithRuns } from '../store/runs.ts';
import { mayBeFile, pathIn } from './file/recorded.ts';
import { type SourceName, sourceFolders, sourceNames } from './folders.ts';
import { looksLikeId, matchId } from './ids.ts';
import { attempt, problemText } from './problems.ts';
import { recordedSource } from './recorded-source.ts';
import type { Change, ChangeSource } from './source.ts';
import { spoolSource } from './spool/source.ts';
import { visible } from '../text/escape-hidden.ts';

/*
 * A change has the id that its source gives it. If several sources of a project have a change with the same id, the ids
 * of all of them begin with the name of the source, as in `kiro:login`. Only a change that was run keeps the id of its
 * runs, regardless of what the sources have now: its state, its lock and its branch have that name.
 */

interface SourceRow {
  /** Whether a project uses the source, which is in this folder. */
  readonly isUsed: (root: string, folder: string) => boolean;
  /** Loads only what is used. */
  readonly open: (folder: string) => Promise<ChangeSource>;
}

const rows: Readonly<Record<SourceName, SourceRow>> = {
  spool: { isUsed: () => true, open: async () => spoolSource },
  openspec: {
    isUsed: (root, folder) => isFolderInside(root, join(folder, 'changes')),
    open: async (folder) => (await import('./openspec/source.ts')).openSpecSource(folder),
  },
  ito: {
    isUsed: (root, folder) => isFolderInside(root, join(folder, 'changes')),
    open: async (folder) => (await import('./ito/source.ts')).itoSource(folder),
  },
  'spec-kit': {
    isUsed: (root, folder) => isFolderInside(root, '.specify') && isFolderInside(root, folder),
    open: async (folder) => (await import('./spec-kit/source.ts')).specKitSource(folder),
  },
  kiro: {
    isUsed: (root, folder) => isFolderInside(root, join(folder, 'specs')),
    open: async (folder) => (await import('./kiro/source.ts')).kiroSource(folder),
  },
};

/** The sources of a project that have a folder. One whose folder is a link is not used. */
const openFolders = async (project: Project): Promise<ChangeSource[]> => {
  const folders = sourceFolders(project);
  const used = sourceNames.filter((name) => attempt(() => rows[name].isUsed(project.root, folders[name])) === true);
  return Promise.all(used.map((name) => rows[name].open(folders[name])));
};

/** The source with this name; undefined if the project does not use it. */
const openSource = async (project: Project, wanted: string): Promise<ChangeSource | undefined> =>
  wanted === 'spool' ? spoolSource : (await openSources(project)).find(({ name }) => name === wanted);

/** Why sources of a project are not used although they have a folder, or cannot be listed, by name. */
const unusedSources = async (project: Project): Promise<ReadonlyMap<string, UserError>> => {
  const folders = sourceFolders(project);
  const tried = sourceNames.map(
    (name) => [name, attempt(() => rows[name].isUsed(project.root, folders[name]))] as const,
  );
  const listed = (await openFolders(project)).map(
    (source) => [source.name, attempt(() => source.list(project.root))] as const,
  );
  return new Map([...tried, ...listed].flatMap(([name, found]) => (found instanceof Error ? [[name, found]] : [])));
};

/** What keeps changes from being listed: a line for each source, and for each folder whose name cannot be an id. */
export const sourceProblems = async (project: Project): Promise<string[]> => {
  const unused = [...(await unusedSources(project)).values()].map((problem) => problemText(project, problem));
  const ignored = (await openFolders(project)).flatMap(({ folder }) => {
    const names = attempt(() => ignoredFoldersInside(project.root, folder));
    return names instanceof Error ? [] : names.map((name) => ignoredText(join(folder, name), name));
  });
  return [...unused, ...ignored];
};

const ignoredText = (path: string, name: string): string => {
  const why = name.startsWith('-')
    ? 'a name that begins with "-" is taken for an option'
    : 'its name has control characters';
  return `${visible(path)} is ignored: ${why}. Rename it.`;
};

/** All sources that a project uses. Task files are one if one of them may have been run. */
const openSources = async (project: Project, withRuns = changesWithRuns(project)): Promise<ChangeSource[]> => {
  const folders = await openFolders(project);
  if (!withRuns.some(mayBeFile)) return folders;
  const { fileSource } = await import('./file/source.ts');
  return [...folders, fileSource];
};

/** Where the changes of a project are looked for, for messages. */
export const changeFolders = async (project: Project): Promise<string> =>
  (await openFolders(project)).map(({ folder }) => folder).join(', ');

interface Listed {
  readonly id: string;
  readonly source: ChangeSource;
  /** What the source calls it. */
  readonly name: string;
}

/** Lists what each source has, with ids that differ. A source that cannot be listed has nothing (`sourceProblems`). */
const identify = async (
  project: Project,
  namesIn: (source: ChangeSource) => readonly string[],
): Promise<readonly Listed[]> => {
  const runs = changesWithRuns(project);
  const sources = await openSources(project, runs);
  const all = sources.flatMap((source) => {
    const names = attempt(() => namesIn(source));
    return names instanceof Error ? [] : names.map((name) => ({ source, name }));
  });
  const counts = new Map<string, number>();
  for (const { name } of all) counts.set(name, (counts.get(name) ?? 0) + 1);
  const withRuns = new Set(runs);
  const isPlain = ({ source, name }: (typeof all)[number]) => {
    if (source.name === 'file') return true;
    if (withRuns.has(`${source.name}:${name}`) || splitId(name).source !== null) return false;
    const owner = withRuns.has(name) ? recordedSource(project.root, name) : null;
    return owner === null ? counts.get(name) === 1 : owner === source.name;
  };
  return all.map((each) => ({ ...each, id: isPlain(each) ? each.name : `${each.source.name}:${each.name}` }));
};

const listed = async (project: Project): Promise<readonly Listed[]> =>
  identify(project, (source) => source.list(project.root));

const listedArchived = async (project: Project): Promise<readonly Listed[]> =>
  identify(project, (source) => [...new Set(source.listArchived(project.root))]);

/** A change of a list. One that cannot be read is listed with its problem. */
export type ListedChange = {
  readonly id: string;
  readonly source: string;
  /** Relative to the root. */
  readonly folder: string;
} & (
  | { readonly change: Change; readonly problem: null }
  | { readonly change: null; /** One line. */ readonly problem: string }
);

/** The active changes, sorted by id. */
export const activeChanges = async (project: Project): Promise<ListedChange[]> =>
  (await listed(project))
    .map((each) => describe(project, each, (source, name) => source.change(project.root, name)))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));

/** The archived changes, sorted by id, with the paths that they have now. */
export const archivedChanges = async (project: Project): Promise<ListedChange[]> =>
  (await listedArchived(project))
    .map((each) =>
      describe(
        project,
        each,
        (source, name) => source.archived(project.root, name) ?? source.change(project.root, name),
      ),
    )
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));

const describe = (
  project: Project,
  { id, source, name }: Listed,
  read: (source: ChangeSource, name: string) => Change,
): ListedChange => {
  const found = attempt(() => {
    const change = read(source, name);
    checkFiles(project, change);
    return change;
  });
  if (found instanceof Error)
    return {
      id,
      source: source.name,
      folder: join(source.folder, name),
      change: null,
      problem: problemText(project, found),
    };
  return { id, source: found.source, folder: found.folder, change: { ...found, id }, problem: null };
};

/** Throws if the proposal or the task file of a change is something else than a file. */
export const checkFiles = ({ root }: Project, { proposalFile, tasksFile }: Change): void => {
  for (const path of [proposalFile, tasksFile]) checkFileInside(root, path);
};

/** The ids of the active changes, sorted. `only` is the name of a source. */
export const listChanges = async (project: Project, only: string | null = null): Promise<string[]> =>
  idsIn(await listedIn(project, only));

const listedIn = async (project: Project, only: string | null): Promise<readonly Listed[]> =>
  (await listed(project)).filter(({ source }) => only === null || source.name === only);

const idsIn = (all: readonly Listed[]): string[] => all.map(({ id }) => id).toSorted();

export const listArchived = async (project: Project): Promise<string[]> =>
  (await listedArchived(project)).map(({ id }) => id);

/** Returns the id of the active change that matches; throws an error that lists the candidates if not exactly one does. */
export const resolveChange = async (project: Project, query: string, only: string | null = null): Promise<string> =>
  resolveAmong(project, query, await listedIn(project, only));

/** The same for a command that only reads: if no active change matches, an archived or a deleted one may. */
export const resolveAnyChange = async (project: Project, query: string): Promise<string> => {
  const active = await listed(project);
  if (matchQuery(query, active).kind !== 'none') return resolveAmong(project, query, active);
  const archived = await listedArchived(project);
  if (matchQuery(query, archived).kind !== 'none') return resolveAmong(project, query, archived);
  const deleted = matchId(query, await deletedChanges(project));
  if (deleted.kind === 'several') throw userError('ambiguous-change', query, deleted.ids);
  return deleted.kind === 'one' ? deleted.id : resolveAmong(project, query, active);
};

/** Returns the changes that have a run and are gone. */
export const deletedChanges = async (project: Project): Promise<string[]> => {
  const present = new Set([...(await listChanges(project)), ...(await listArchived(project))]);
  return changesWithRuns(project).filter((id) => !present.has(id));
};

const resolveAmong = async (project: Project, query: string, all: readonly Listed[]): Promise<string> => {
  const match = matchQuery(query, all);
  switch (match.kind) {
    case 'one':
      return match.id;
    case 'several':
      throw userError('ambiguous-change', query, match.ids);
    case 'none': {
      const archived = matchQuery(query, await listedArchived(project));
      if (archived.kind === 'one') throw userError('archived-change', archived.id);
      // The change may be in a source that is not used.
      const [unused] = (await unusedSources(project)).values();
      if (unused !== undefined) throw unused;
      throw userError('unknown-change', {
        query,
        folder: await changeFolders(project),
        near: match.near,
        ids: idsIn(all),
      });
    }
  }
};

/** The name of a source may be given or left out: `login` matches `kiro:login`, and `kiro:login` matches `login` of Kiro. */
const matchQuery = (query: string, all: readonly Listed[]): ReturnType<typeof matchId> => {
  const match = matchId(query, idsIn(all));
  if (match.kind !== 'none') return match;
  const named = idsIn(all.filter((each) => isNamed(each, query)));
  if (named.length > 1) return { kind: 'several', ids: named };
  return named.length === 1 ? { kind: 'one', id: named[0]! } : match;
};

/** Whether a text names a change exactly, with or without the name of its source. */
const isNamed = ({ id, source, name }: Listed, text: string): boolean =>
  [id, name, `${source.name}:${name}`].includes(text);

/** Whether a text is the id of an active change, with or without the name of its source. */
export const isChangeId = async (project: Project, text: string): Promise<boolean> =>
  (await listed(project)).some((each) => isNamed(each, text));

/** Whether a text is the id of an active change, the unique beginning of one, or a number that some begin with. */
export const namesActiveChange = async (project: Project, text: string): Promise<boolean> => {
  const { kind } = matchQuery(text, await listed(project));
  return kind === 'one' || (kind === 'several' && looksLikeId(text));
};

/** Splits `kiro:login` into the name of the source and what the source calls the change. */
const splitId = (id: string): { readonly source: SourceName | null; readonly name: string } => {
  const source = sourceNames.find((name) => id.startsWith(`${name}:`)) ?? null;
  return { source, name: source === null ? id : id.slice(source.length + 1) };
};

/**
 * The change with an id from `listChanges`, or from a run, whose source is given. It may be gone, for example while
 * another branch is checked out.
 */
export const changeOf = async (project: Project, id: string, from: string | null = null): Promise<Change> => {
  const { root } = project;
  const path = pathIn(from ?? '');
  if (path !== null) return (await import('./file/source.ts')).fileChange(root, id, path);
  const { source, name } = splitId(id);
  const wanted = source ?? from;
  const found =
    wanted === null
      ? (await listed(project)).find((each) => each.id === id)?.source
      : await openSource(project, wanted);
  const unused = found === undefined ? (await unusedSources(project)).get(wanted ?? '') : undefined;
  if (unused !== undefined) throw unused;
  return { ...(found ?? spoolSource).change(root, name), id };
};

/** The change of a task file, whether or not it was run before. `given` is relative to `cwd`. */
export const changeOfFile = async (project: Project, given: string, cwd: string): Promise<Change> => {
  const { root } = project;
  const [{ taskFilePath }, { fileChange, idOfFile }] = await Promise.all([
    import('./file/path.ts'),
    import('./file/source.ts'),
  ]);
  const path = taskFilePath(project, given, cwd);
  const others = new Set((await openFolders(project)).flatMap((source) => listIfPossible(source, root)));
  const id = idOfFile(root, path, (each) => others.has(each));
  return fileChange(root, id, path);
};

const listIfPossible = (source: ChangeSource, root: string): readonly string[] => {
  const names = attempt(() => source.list(root));
  return names instanceof Error ? [] : names;
};

/** A change that was archived, at its path in the archive; null if there is none with this id. */
export const archivedChange = async (project: Project, id: string): Promise<Change | null> => {
  const found = (await listedArchived(project)).find((each) => each.id === id);
  const change = found?.source.archived(project.root, found.name) ?? null;
  return change && { ...change, id };
};

export const changesOfModule = async (project: Project, moduleId: string): Promise<string[]> =>
  (await activeChanges(project)).filter(({ change }) => change?.module === moduleId).map(({ id }) => id);

/** The change that has this folder, whether or not it exists; null if no source has changes there. */
export const changeAt = async (project: Project, folder: string): Promise<Change | null> => {
  const sources = await openSources(project);
  const name = basename(folder);
  const source = sources.find((each) => join(each.folder, name) === folder);
  return source?.change(project.root, name) ?? null;
};

/** The folders with main specs, relative to the root. */
export const mainSpecFolders = async (project: Project): Promise<string[]> =>
  (await openSources(project)).flatMap(({ specsFolder }) => specsFolder ?? []);
