import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { userError } from '../errors.ts';
import { type Checkpoint, listCheckpoints } from '../git/checkpoint.ts';
import type { CommitStore } from '../git/commit-store.ts';
import { findWorkTree, type WorkTree } from '../git/work-tree.ts';
import { checkpointRecorder, recogniseCheckpoint } from './user-state/checkpoints.ts';
import { userStateFolder } from './user-state/folder.ts';
import { isKnown, recordedWorkspace } from './user-state/identity.ts';
import { type Project } from './project.ts';
import { isWorkspaceOf, runsFolder, runFolder, workspaceFile } from './paths.ts';
import { ensureStateIsHidden, newTempIndex } from './folders.ts';
import { folderNames, readText } from '../files/read.ts';

/** A run of a change, with its checkpoints. */
export interface RunCheckpoints {
  readonly project: Project;
  readonly tree: WorkTree;
  /** The folder in which the run worked. It may no longer exist. */
  readonly workspace: string;
  readonly change: string;
  readonly run: string;
  /** The folder with Spool's own record of the checkpoints. */
  readonly userState: string;
  readonly record: (checkpoint: Checkpoint) => void;
  /** By name. */
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
}

/** The checkpoints of a run, as far as they are only compared. */
export interface ComparedCheckpoints extends Pick<RunCheckpoints, 'change' | 'checkpoints' | 'userState'> {
  readonly tree: CommitStore;
}

export interface CheckpointsRequest {
  readonly project: Project;
  readonly change: string;
  /** The id of the run; undefined for the last one. */
  readonly wanted: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Prints a line for the user. */
  readonly say: (line: string) => void;
  /** Where an index of our own is, for a process that asks often; a new one if it is missing. */
  readonly indexFile?: string;
}

export const findCheckpoints = async ({
  project,
  change,
  wanted,
  env,
  say,
  indexFile,
}: CheckpointsRequest): Promise<RunCheckpoints> => {
  const openTree = (root: string) => openWorkTree(project, root, indexFile ?? newTempIndex(env));
  const home = await openTree(project.root);
  const all = await listCheckpoints(home, change);
  // Ignores runs of the same change in another folder of the repository.
  const ours = new Set(folderNames(runsFolder(project, change)));
  const runs = [...new Set(all.map(({ run }) => run))].filter((run) => ours.has(run)).toSorted();
  const folder = userStateFolder(project, change, env);
  const isOwn = (id: string) => isKnown(folder, { run: id });
  // A forged run must not count as the last one.
  const run = wanted === undefined ? (runs.findLast(isOwn) ?? runs.at(-1)) : runs.find((id) => id === wanted);
  if (run === undefined) throw userError('no-checkpoint', change, wanted ?? null, runs);
  if (!isOwn(run)) say(`Run ${run} of ${change} was not started here: its checkpoints cannot be verified.`);
  const workspace = workspaceOf({ project, change, run, folder });
  const tree = workspace !== null && existsSync(workspace) ? await openTree(workspace) : home;
  const own = all.filter((checkpoint) => checkpoint.run === run);
  return {
    project,
    tree,
    workspace: workspace ?? project.root,
    change,
    run,
    userState: folder,
    record: checkpointRecorder(project, change, env),
    checkpoints: new Map(own.map((checkpoint) => [checkpoint.name, checkpoint])),
  };
};

/** Throws an error that lists the available checkpoints if there is none with this name. */
export const checkpointNamed = (
  { change, checkpoints, userState: folder }: ComparedCheckpoints,
  name: string,
): Checkpoint => {
  const found = checkpoints.get(name);
  if (!found) throw userError('no-checkpoint', change, name, [...checkpoints.keys()].toSorted(byNumber));
  if (recogniseCheckpoint(folder, found) === 'changed') throw userError('forged-checkpoint', change, name);
  return found;
};

const byNumber = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });

/** Returns the number of the last iteration that has a checkpoint. */
export const lastIteration = ({ checkpoints }: Pick<RunCheckpoints, 'checkpoints'>): number =>
  Math.max(...[...checkpoints.keys()].filter((name) => /^\d+$/.test(name)).map(Number));

const openWorkTree = async (project: Project, root: string, indexFile: string): Promise<WorkTree> => {
  ensureStateIsHidden(project);
  const found = await findWorkTree(root, indexFile);
  if (found.kind === 'found') return found.tree;
  throw userError('no-git', root, found.kind === 'refused' ? found.why : 'it is not a git repository');
};

interface LocatedRun {
  readonly project: Project;
  readonly change: string;
  readonly run: string;
  /** The folder with the records of the change. */
  readonly folder: string;
}

/**
 * Returns the folder in which a run worked; null if it is unknown. The record decides for a run that was started here.
 */
const workspaceOf = ({ project, change, run, folder }: LocatedRun): string | null => {
  const folderOfRun = runFolder(project, change, run);
  // Version 1 called the file `place`.
  const file = [workspaceFile(folderOfRun), join(folderOfRun, 'place')].find((path) => existsSync(path)) ?? null;
  const written = file === null ? null : (readText(file)?.trim() ?? null);
  const recorded = recordedWorkspace(folder, run);
  const refuse = (problem: string) => userError('bad-state', relative(project.root, file ?? folderOfRun), problem);
  if (recorded !== null && written !== null && written !== recorded)
    throw refuse('names another folder than the one in which the run was started');
  const workspace = recorded ?? written;
  if (workspace === null || isWorkspaceOf(project, change, workspace)) return workspace;
  throw refuse('names a folder that is neither the project nor the worktree of the change');
};
