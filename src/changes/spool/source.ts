import { join } from 'node:path';
import { filesBelow } from '../../files/folders.ts';
import { folderNames, statsOf } from '../../files/read.ts';
import type { Change, ChangeDocument, ChangeFile, ChangeSource } from '../source.ts';
import { archiveDate, archivedName } from '../archived-name.ts';
import { moduleOf } from './ids.ts';
import { moduleFile, moduleFolder } from '../modules.ts';
import { archivePath, changesPath, specsPath } from './paths.ts';
import { isUntouchedProposal } from './templates.ts';

/** `.spool/changes/<id>/` with proposal.md, and optionally tasks.md, design.md and specs/. Hidden folders and links are ignored. */
export const spoolSource: ChangeSource = {
  name: 'spool',
  folder: changesPath,
  planningFolders: ['.spool'],
  specsFolder: specsPath,
  list: async (root) => folderNames(join(root, changesPath)).filter((name) => name !== 'archive'),
  listArchived: async (root) => folderNames(join(root, archivePath)).map((name) => name.replace(archiveDate, '')),
  archived: async (root, id) => {
    const name = folderNames(join(root, archivePath)).findLast(
      (each) => each === id || each.replace(archiveDate, '') === id,
    );
    return name === undefined ? null : createChange(id, join(archivePath, name));
  },
  has: (root, id) => statsOf(join(root, changesPath, id))?.isDirectory() ?? false,
  change: (id) => createChange(id),
  isTasksFile: (path) => taskFile.test(path),
  archivePath: ({ id }) => join(archivePath, archivedName(id, new Date())),
};

const taskFile = /^\.spool[/\\]changes[/\\][^/\\]+[/\\]tasks\.md$/;

const createChange = (id: string, folder = join(changesPath, id)): Change => {
  const module = moduleOf(id);
  const specsFolder = join(folder, 'specs');
  const at = (name: string) => join(folder, name);
  return {
    id,
    source: spoolSource.name,
    module,
    folder,
    proposalFile: at('proposal.md'),
    tasksFile: at('tasks.md'),
    specs: { delta: specsFolder, main: specsPath, settings: at('.spool.yaml'), isRequired: false },
    isTemplate: isUntouchedProposal,
    documents(root) {
      const modulePath = module === null ? null : moduleFile(root, module);
      return [
        { kind: 'proposal', path: at('proposal.md'), name: 'proposal.md' },
        ...filesBelow(join(root, specsFolder)).map((name): ChangeDocument => ({
          kind: 'spec',
          path: join(specsFolder, name),
          name,
        })),
        { kind: 'tasks', path: at('tasks.md'), name: 'tasks.md' },
        { kind: 'design', path: at('design.md'), name: 'design.md' },
        ...(modulePath === null ? [] : [{ kind: 'module' as const, path: modulePath, name: 'module.md' }]),
      ];
    },
    files: (root) =>
      filesBelow(join(root, folder))
        .filter((name) => name !== 'proposal.md' && !/(?:^|\/)\./.test(name))
        .slice(0, mostFiles)
        .map((name) => ({ kind: kindOf(name), name }))
        .toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || (a.name < b.name ? -1 : 1)),
    planningPaths(root) {
      const moduleAt = module === null ? null : moduleFolder(root, module);
      return [folder, ...(moduleAt === null ? [] : [moduleAt])];
    },
  };
};

/** More files of a change are not listed. */
const mostFiles = 1000;

const order: readonly ChangeFile['kind'][] = ['spec', 'tasks', 'design', 'other'];

const kindOf = (name: string): ChangeFile['kind'] => {
  if (name.startsWith('specs/')) return 'spec';
  return name === 'tasks.md' ? 'tasks' : name === 'design.md' ? 'design' : 'other';
};
