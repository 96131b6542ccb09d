import { basename, join } from 'node:path';
import { checkOnce } from '../files/checks.ts';
import { filesInside, isFileInside } from '../files/inside.ts';
import type { Change, ChangeDocument, ChangeFile, DocumentKind, PromptSection, SpecPaths } from './source.ts';
import { markdownTasks } from './tasks/format.ts';

/** What is particular to the changes of a source that gives each its own folder. */
export interface FolderLayout {
  readonly id: string;
  readonly source: string;
  readonly folder: string;
  readonly module?: string | null;
  /** Names of files in the folder. */
  readonly proposal: string;
  readonly tasks: string;
  /** What a file is, by its path in the folder; `other` files are not guarded. */
  readonly kindOf: (name: string) => ChangeFile['kind'];
  /** Names in the folder that an agent must not create. */
  readonly closed?: readonly string[];
  /** Whether an agent must not create specs. */
  readonly hasClosedSpecs?: boolean;
  /** Files outside of the folder that belong to the goal. */
  readonly shared?: (root: string) => ChangeDocument[];
  /** Files and folders outside of the folder that a worktree needs. */
  readonly sharedPaths?: (root: string) => string[];
  readonly planningFolders: readonly string[];
  /** The whole files are part of the prompt, under their titles, instead of being named there. */
  readonly sections?: (root: string) => PromptSection[];
  readonly warnings?: (root: string) => string[];
  readonly isTemplate?: (proposal: string) => boolean;
  readonly specs?: SpecPaths;
  readonly archiveFolder?: string | null;
}

/** A change whose files are in one folder. Links are ignored. */
export const folderChange = (layout: FolderLayout): Change => {
  const { id, source, folder, module = null, proposal, tasks, kindOf, closed = [], planningFolders } = layout;
  const sections = layout.sections ?? (() => []);
  const documents = (root: string): ChangeDocument[] => {
    const names = new Set([proposal, ...filesInside(root, folder), tasks, ...closed]);
    const own = [...names].flatMap((name): ChangeDocument[] => {
      const kind = name === proposal ? 'proposal' : name === tasks ? 'tasks' : kindOf(name);
      const isClosed =
        closed.includes(name) || kind === 'checklist' || (kind === 'spec' && layout.hasClosedSpecs === true);
      return kind === 'other' ? [] : [{ kind, path: join(folder, name), name: shortName(kind, name), isClosed }];
    });
    const others = [...specDocuments(root, layout.specs), ...(layout.shared?.(root) ?? [])];
    return [...own, ...others.map((each) => ({ ...each, isClosed: true }))].toSorted(
      (a, b) => order.indexOf(a.kind) - order.indexOf(b.kind),
    );
  };
  const files = (root: string): ChangeFile[] => {
    const inPrompt = new Set([join(folder, proposal), ...sections(root).map(({ path }) => path)]);
    return filesInside(root, folder)
      .filter((name) => !isHidden(name) && !inPrompt.has(join(folder, name)))
      .slice(0, maxFiles)
      .map((name) => ({ kind: name === tasks ? ('tasks' as const) : kindOf(name), name }))
      .toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || (a.name < b.name ? -1 : 1));
  };
  return {
    id,
    source,
    module,
    folder,
    proposalFile: join(folder, proposal),
    tasksFile: join(folder, tasks),
    format: markdownTasks,
    verify: [],
    planningFolders,
    ...(layout.specs === undefined ? {} : { specs: layout.specs }),
    archiveFolder: layout.archiveFolder ?? null,
    isExact: (path) => path.startsWith(`${folder}/`) && kindOf(path.slice(folder.length + 1)) === 'checklist',
    isTemplate: layout.isTemplate ?? (() => false),
    documents: (root) => checkOnce(() => documents(root)),
    files: (root) => checkOnce(() => files(root)),
    sections: (root) => checkOnce(() => sections(root).filter(({ path }) => isFileInside(root, path))),
    warnings: layout.warnings ?? (() => []),
    planningPaths: (root) => [folder, ...(layout.sharedPaths?.(root) ?? [])],
  };
};

/** What decides how the specs of a change are merged. */
const specDocuments = (root: string, specs: SpecPaths | undefined): ChangeDocument[] =>
  specs === undefined
    ? []
    : [
        { kind: 'context', path: specs.settings, name: basename(specs.settings) },
        ...filesInside(root, specs.main)
          .filter((name) => name.endsWith('.md'))
          .map((name): ChangeDocument => ({ kind: 'main-spec', path: join(specs.main, name), name })),
      ];

/** More files of a change are not listed. */
const maxFiles = 1000;

const order: readonly ChangeFile['kind'][] = [
  'proposal',
  'spec',
  'tasks',
  'design',
  'module',
  'context',
  'checklist',
  'main-spec',
  'other',
];

const shortName = (kind: DocumentKind, name: string): string => (kind === 'spec' ? name.replace(/^specs\//, '') : name);

const isHidden = (name: string): boolean => /(?:^|\/)\./.test(name);

/** A file in the folder of a change whose text is part of the prompt, with its path in the title. */
export const sectionIn = (folder: string, title: string, name: string): PromptSection => {
  const path = join(folder, name);
  return { title: `${title} (${path})`, path };
};
