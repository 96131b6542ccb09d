import { checkpointsFile } from '../paths.ts';
import type { Project } from '../project.ts';
import { userStateFolder } from './folder.ts';
import { isKnown } from './identity.ts';
import { appendLine, linesIn } from './lines.ts';

/** Returns a function that records checkpoints of a change. */
export const checkpointRecorder =
  (project: Project, change: string, env: NodeJS.ProcessEnv) =>
  (checkpoint: NamedCommit): void =>
    recordCheckpoint(userStateFolder(project, change, env), checkpoint);

/** Called with every checkpoint: anyone who can write to the repository can move a ref. */
const recordCheckpoint = (folder: string, { run, name, commit }: NamedCommit): void =>
  appendLine(checkpointsFile(folder), `${run} ${name} ${commit}\n`);

/** The commit of a checkpoint that was taken here; null if there is none with this name. */
export const recordedCheckpoint = (folder: string, run: string, name: string): string | null =>
  linesIn(checkpointsFile(folder))
    .findLast((line) => line.startsWith(`${run} ${name} `))
    ?.split(' ')[2] ?? null;

export interface NamedCommit {
  readonly run: string;
  readonly name: string;
  readonly commit: string;
}

/** The checkpoints of all runs of the change, in the order in which they were taken. */
export const recordedCheckpoints = (folder: string): NamedCommit[] =>
  linesIn(checkpointsFile(folder)).flatMap((line) => {
    const [run, name, commit] = line.split(' ');
    return run && name && commit ? [{ run, name, commit }] : [];
  });

/** Compares a checkpoint with the recorded one. Returns `unknown` if its run is not recorded here. */
export const recogniseCheckpoint = (
  folder: string,
  { run, name, commit }: NamedCommit,
): 'same' | 'unknown' | 'changed' => {
  const lines = linesIn(checkpointsFile(folder));
  if (lines.includes(`${run} ${name} ${commit}`)) return 'same';
  return isKnown(folder, { run }) || lines.some((line) => line.startsWith(`${run} `)) ? 'changed' : 'unknown';
};
