import { basename, join } from 'node:path';
import { foldersInside } from '../../files/inside.ts';
import { archivedFolder, archivedIds } from '../archive/folder.ts';
import { folderChange } from '../folder-change.ts';
import type { Change, ChangeDocument, ChangeFile, ChangeSource, PromptSection } from '../source.ts';
import {
  applyGuidanceIn,
  changeSettingsFile,
  configFile,
  configFiles,
  contextIn,
  schemaFile,
  tasksFileOf,
} from './settings.ts';

/** `openspec/changes/<id>/` with proposal.md, tasks.md, design.md and specs/, as OpenSpec creates them. */
export const openSpecSource = (base: string): ChangeSource => {
  const changes = join(base, 'changes');
  const archive = join(changes, 'archive');
  const change = (root: string, id: string, folder = join(changes, id)) => createChange(root, { id, folder, base });
  return {
    name: 'openspec',
    folder: changes,
    specsFolder: join(base, 'specs'),
    list: (root) => foldersInside(root, changes).filter((name) => name !== 'archive'),
    listArchived: (root) => archivedIds(root, archive),
    archived: (root, id) => {
      const folder = archivedFolder(root, archive, id);
      return folder === null ? null : change(root, id, folder);
    },
    change,
  };
};

interface Location {
  readonly id: string;
  readonly folder: string;
  /** The folder of OpenSpec in the project. */
  readonly base: string;
}

const createChange = (root: string, { id, folder, base }: Location): Change => {
  const tasks = tasksFileOf(root, base, folder);
  // It says which file has the tasks.
  const schema = schemaFile(root, base, folder);
  const isSpec = (name: string) => name.startsWith('specs/') && name.endsWith('.md');
  const layout = {
    id,
    source: 'openspec',
    folder,
    proposal: 'proposal.md',
    tasks,
    planningFolders: [base, '.spool'],
    kindOf: (name: string): ChangeFile['kind'] =>
      name.startsWith('specs/') ? 'spec' : name.endsWith('.md') ? 'design' : 'other',
    closed: ['design.md'],
    hasClosedSpecs: true,
    specs: {
      delta: join(folder, 'specs'),
      main: join(base, 'specs'),
      settings: changeSettingsFile(folder),
      needsSchema: true,
      isRequired: true,
    },
    archiveFolder: join(base, 'changes', 'archive'),
    shared: (): ChangeDocument[] => [
      ...shared(base),
      ...(schema === null ? [] : [{ kind: 'context' as const, path: schema, name: 'schema.yaml' }]),
    ],
    sharedPaths: () => [...shared(base).map(({ path }) => path), ...(schema === null ? [] : [schema])],
  };
  const names = (at: string) => folderChange(layout).documents(at);
  return folderChange({
    ...layout,
    sections(at) {
      const documents = names(at);
      const titled = (title: string, kinds: readonly string[]): PromptSection[] =>
        documents
          .filter(({ kind, name }) => kinds.includes(kind) && (kind !== 'spec' || isSpec(`specs/${name}`)))
          .map(({ path }) => ({ title: `${title} (${path})`, path }));
      return [
        ...titled('Spec Delta', ['spec']),
        ...titled('Design', ['design']),
        ...titled('Tasks', ['tasks']),
        { title: 'Project Context', path: configFile(at, base), excerpt: contextIn },
        { title: 'Project Context', path: join(base, 'project.md') },
        { title: 'How to Apply the Change', path: configFile(at, base), excerpt: applyGuidanceIn },
      ];
    },
  });
};

/** What all changes have in common. Older projects have project.md instead of config.yaml. */
const shared = (base: string): ChangeDocument[] => [
  ...configFiles(base).map((path): ChangeDocument => ({ kind: 'context', path, name: basename(path) })),
  { kind: 'context', path: join(base, 'project.md'), name: 'project.md' },
];
