import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import { folderNames, readIfThere } from '../files/read.ts';
import { filesBelow } from '../files/own.ts';
import { archiveFolder, changesFolder, type Project } from '../store/project.ts';
import { matchId, moduleOf } from './ids.ts';

/** The ids of all active changes, sorted. Archived changes, hidden folders and links are not among them. */
export const listChanges = async (project: Project): Promise<string[]> =>
  (await folderNames(changesFolder(project))).filter((name) => name !== 'archive');

export const listArchived = (project: Project): Promise<string[]> => folderNames(archiveFolder(project));

/** The active change that is meant; an error that lists the candidates when that is not clear. */
export const resolveChange = async (project: Project, query: string): Promise<string> => {
  const ids = await listChanges(project);
  const match = matchId(query, ids);
  switch (match.kind) {
    case 'one':
      return match.id;
    case 'several':
      throw userError('ambiguous-change', query, match.ids);
    case 'none':
      throw userError('unknown-change', query, match.near, ids);
  }
};

export const changesOfModule = async (project: Project, moduleId: string): Promise<string[]> =>
  (await listChanges(project)).filter((id) => moduleOf(id) === moduleId);

/** Only for ids that came from listChanges: they are names of folders, so they never leave `changes/`. */
export const changeFolder = (project: Project, id: string) => join(changesFolder(project), id);

export const readProposal = async (project: Project, id: string): Promise<string> => {
  const file = join(changeFolder(project, id), 'proposal.md');
  const proposal = await readIfThere(file);
  if (proposal === null) throw userError('no-proposal', id, relative(project.root, file));
  return proposal;
};

/** How many files of a change are looked at. */
const mostFiles = 1000;

/** The files of a change besides the proposal, relative to its folder: the scenarios, then tasks and design, then others. */
export const filesOfChange = (project: Project, id: string): string[] => {
  const first = ['specs/', 'tasks.md', 'design.md'];
  const rank = (name: string) => {
    const index = first.findIndex((start) => name === start || (start.endsWith('/') && name.startsWith(start)));
    return index === -1 ? first.length : index;
  };
  return filesBelow(changeFolder(project, id))
    .filter((name) => name !== 'proposal.md' && !/(?:^|\/)\./.test(name))
    .slice(0, mostFiles)
    .toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
};
