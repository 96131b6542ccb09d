import { lstatSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { userError } from '../errors.ts';
import { isOurs } from '../files/checks.ts';
import { projectMarker } from '../files/project-markers.ts';

/** A folder with changes, Spool's own or those of another tool. Agents are started there, not in the subfolder where the command was typed. */
export interface Project {
  readonly root: string;
}

/** Returns the project of a command. In the worktree of a run that is the project of the run, which has its state. */
export const findProject = (from: string): Project => ownerOf(findProjectHere(from));

/** The same for a command that only changes files: in a worktree it changes the files of the worktree. */
export const findProjectHere = (from: string): Project => {
  const project = findProjectIfAny(from);
  if (!project) throw userError('no-project', from);
  return project;
};

/** The same for a command that also works without a project. */
export const findProjectIfAny = (from: string): Project | null => {
  const project = lookForProject(from);
  if (project && !isOwnProject(project))
    throw userError('foreign-project', project.root, lstatSync(markerOf(project)).uid);
  return project;
};

/** Returns the project that the worktree of a run belongs to, or the project itself. */
export const ownerOf = (project: Project): Project => {
  const root = /^(.+)[/\\]\.spool[/\\]worktrees[/\\]/.exec(project.root)?.[1];
  return root !== undefined && isFolder(join(root, '.spool')) ? ownerOf({ root }) : project;
};

/** Returns the nearest folder at or above `from` that is a project; null if there is none. */
export const lookForProject = (from: string): Project | null => {
  for (let folder = from; ; folder = dirname(folder)) {
    if (projectMarker(folder) !== null) return { root: folder };
    if (dirname(folder) === folder) return null;
  }
};

/** The owner of a project decides what runs in it, so it must be the user. */
export const isOwnProject = (project: Project): boolean => isOurs(lstatSync(markerOf(project)));

const markerOf = ({ root }: Project): string => projectMarker(root) ?? root;

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
