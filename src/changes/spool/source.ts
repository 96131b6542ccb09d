import { join } from 'node:path';
import { foldersInside, isFileInside } from '../../files/inside.ts';
import { archivedFolder, archivedIds } from '../archive/folder.ts';
import { folderChange } from '../folder-change.ts';
import { moduleFile, moduleFolder } from '../modules.ts';
import type { Change, ChangeDocument, ChangeFile, ChangeSource } from '../source.ts';
import { moduleOf } from './ids.ts';
import { archiveIn, changesIn, specsIn } from './paths.ts';
import { isUntouchedProposal } from './templates.ts';

/** `<base>/changes/<id>/` with proposal.md, and optionally tasks.md, design.md and specs/. Hidden folders and links are ignored. */
export const spoolTree = (name: string, base: string): ChangeSource => {
  const [changes, archive] = [changesIn(base), archiveIn(base)];
  const change = (id: string, folder = join(changes, id)) => createChange({ id, name, base, folder });
  return {
    name,
    folder: changes,
    specsFolder: specsIn(base),
    list: (root) => foldersInside(root, changes).filter((each) => each !== 'archive'),
    listArchived: (root) => archivedIds(root, archive),
    archived: (root, id) => {
      const folder = archivedFolder(root, archive, id);
      return folder === null ? null : change(id, folder);
    },
    change: (_root, id) => change(id),
  };
};

export const spoolSource = spoolTree('spool', '.spool');

interface Place {
  readonly id: string;
  /** The name of the source. */
  readonly name: string;
  readonly base: string;
  readonly folder: string;
}

const createChange = ({ id, name, base, folder }: Place): Change => {
  const module = moduleOf(id);
  const contextFiles = (root: string) =>
    ['project.md', 'user-guidance.md'].map((file) => join(base, file)).filter((path) => isFileInside(root, path));
  const sharedFiles = (root: string): ChangeDocument[] => {
    const modulePath = module === null ? null : moduleFile(root, module, base);
    return [
      ...(modulePath === null ? [] : [{ kind: 'module' as const, path: modulePath, name: 'module.md' }]),
      ...contextFiles(root).map((path) => ({ kind: 'context' as const, path, name: path })),
    ];
  };
  return folderChange({
    id,
    source: name,
    folder,
    module,
    proposal: 'proposal.md',
    tasks: 'tasks.md',
    kindOf,
    specs: {
      delta: join(folder, 'specs'),
      main: specsIn(base),
      settings: join(folder, `${base.replace(/^.*\//, '')}.yaml`),
      needsSchema: false,
      isRequired: false,
    },
    archiveFolder: archiveIn(base),
    planningFolders: [...new Set([base, '.spool'])],
    shared: sharedFiles,
    sharedPaths(root) {
      const moduleAt = module === null ? null : moduleFolder(root, module, base);
      return [...(moduleAt === null ? [] : [moduleAt]), ...contextFiles(root)];
    },
    sections: (root) => contextFiles(root).map((path) => ({ title: `Project Context (${path})`, path })),
    isTemplate: isUntouchedProposal,
  });
};

const kindOf = (name: string): ChangeFile['kind'] => {
  if (name.startsWith('specs/')) return 'spec';
  return name === 'design.md' ? 'design' : 'other';
};
