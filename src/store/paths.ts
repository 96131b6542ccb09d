import { dirname, join, resolve, sep } from 'node:path';
import type { Project } from './project.ts';

/*
 * Every file and folder that Spool writes and keeps. Paths that are not below are defined where the comment says.
 *
 * In a project:
 *   .spool/config.json, .spool/config.schema.json
 *   .spool/worktrees/<change>/                 where a run with --worktree works
 *   .spool/worktrees/.land-<change>/           where `spool land` rehearses, while it runs
 *   .spool/worktrees/.trial-<change>/          where --red-first tries tests without the change, while it runs
 *   .spool/worktrees/.review-<change>/         where another agent reviews the work, while it does
 *   .spool/worktrees/.gitignore, .spool/.state/.gitignore   (store/folders.ts)
 *   .spool/.state/create.lock, .spool/.state/archive.lock
 *   .spool/.state/archive.json                 what `spool archive` is about to write, while it writes
 *   .spool/.state/ralph/<change>/              state.json (also .damaged-<n>), history.jsonl, context.txt, handover.md,
 *                                              control.jsonl,
 *                                              lock, queued, removed, landed.json, land.log, agent/, copies/
 *   .spool/.state/ralph/<change>/runs/<run>/   prompts, logs, events.jsonl, start.json, workspace, and the lists of files
 *                                              (store/file-lists.ts)
 *
 * In the git folder of a work tree:
 *   spool.lock                                 while a run works there; in .spool/.state without git
 *   spool-index.json                           files of the index that are not refreshed yet (git/refresh.ts)
 *   spool-provisioned                          the setup of a worktree is done (run/workspace/provisioned-worktree.ts)
 *   refs/spool/<change>/<run>/                 checkpoints (git/checkpoint.ts)
 *   branch.<name>.spoolBase in its config      where a branch lands (git/branches.ts)
 *
 * In the user's own state folder (files/home.ts), where no project and no sandboxed agent can write:
 *   projects/<project>/repository.json
 *   projects/<project>/archive-journal         the hash of archive.json, while `spool archive` writes
 *   projects/<project>/<change>/               what later decisions rely on (store/user-state/, guard/guard.ts)
 *   trust.json                                 the settings that the user trusts (trust/store.ts)
 *   sandbox/                                   what a sandbox must not leave behind (sandbox/leftover.ts)
 *   tmp/                                       temporary git indexes, while a command runs (store/folders.ts)
 *   .gitignore                                 hides the folder from git (files/folders.ts)
 */

/** Relative to the root. */
export const configPath = join('.spool', 'config.json');
export const configFile = ({ root }: Project) => join(root, configPath);
/** A copy for editors; Spool does not read it. */
export const configSchemaFile = ({ root }: Project) => join(root, '.spool', 'config.schema.json');
export const worktreesFolder = ({ root }: Project) => join(root, '.spool', 'worktrees');
/** Where a run with --worktree works. */
export const worktreePath = (project: Project, change: string) => join(worktreesFolder(project), change);
/** A run works in the project or below its worktree. A path with `..` could lead elsewhere. */
export const isWorkspaceOf = (project: Project, change: string, workspace: string): boolean => {
  const worktree = worktreePath(project, change);
  if (resolve(workspace) !== workspace) return false;
  return workspace === project.root || workspace === worktree || workspace.startsWith(`${worktree}${sep}`);
};

/** Where `spool land` rehearses a landing. */
export const stagingWorktree = (project: Project, change: string) => worktreePath(project, `.land-${change}`);

/** Where the gate tries what proves the scenarios on the code from before the change. */
export const trialWorktree = (project: Project, change: string) => worktreePath(project, `.trial-${change}`);

/** Where another agent reviews the work of an iteration. */
export const reviewFolder = (project: Project, change: string) => worktreePath(project, `.review-${change}`);

export const stateFolder = ({ root }: Project) => join(root, '.spool', '.state');
/** Hides the state from git. */
export const stateIgnoreFile = (project: Project) => join(stateFolder(project), '.gitignore');
export const createLockFile = (project: Project) => join(stateFolder(project), 'create.lock');
export const archiveLockFile = (project: Project) => join(stateFolder(project), 'archive.lock');
export const archiveJournalFile = (project: Project) => join(stateFolder(project), 'archive.json');
/** In the git folder of a work tree, or in the state folder of a project without git. */
export const treeLockFile = (folder: string) => join(folder, 'spool.lock');

/** What a run with --detach prints before its run is known. */
export const startLog = (project: Project) => join(stateFolder(project), `start-${crypto.randomUUID()}.log`);

/** Contains a folder for each change that was ever run. */
export const allRunsFolder = (project: Project) => join(stateFolder(project), 'ralph');
/** Contains everything about the runs of one change. */
export const ralphFolder = (project: Project, change: string) => join(allRunsFolder(project), change);
export const stateFile = (project: Project, change: string) => join(ralphFolder(project, change), 'state.json');
export const historyFile = (project: Project, change: string) => join(ralphFolder(project, change), 'history.jsonl');
export const contextFile = (project: Project, change: string) => join(ralphFolder(project, change), 'context.txt');
export const handoverFile = (project: Project, change: string) => join(ralphFolder(project, change), 'handover.md');
export const controlFile = (project: Project, change: string) => join(ralphFolder(project, change), 'control.jsonl');
export const lockFile = (project: Project, change: string) => join(ralphFolder(project, change), 'lock');
/** While the change is in the queue of a batch. */
export const queueFile = (project: Project, change: string) => join(ralphFolder(project, change), 'queued');
/** What became of `queued` if another process removed the change from the queue, until the batch notices. */
export const removedFile = (project: Project, change: string) => join(ralphFolder(project, change), 'removed');
/** The name of that file in earlier versions, which may still run. */
export const formerRemovedFile = (project: Project, change: string) => join(ralphFolder(project, change), 'taken-out');
export const landedFile = (project: Project, change: string) => join(ralphFolder(project, change), 'landed.json');
export const landLog = (project: Project, change: string) => join(ralphFolder(project, change), 'land.log');
/** Data that agents keep, where several run at the same time. */
export const agentDataFolder = (project: Project, change: string) => join(ralphFolder(project, change), 'agent');
/** The files of the change as the project and its worktree last agreed on them, and as the worktree had them. */
export const copiesFolder = (project: Project, change: string) => join(ralphFolder(project, change), 'copies');

export const runsFolder = (project: Project, change: string) => join(ralphFolder(project, change), 'runs');
/** Contains the prompts, logs and journal of one run. */
export const runFolder = (project: Project, change: string, run: string) => join(runsFolder(project, change), run);
export const startFile = (project: Project, change: string, run: string) =>
  join(runFolder(project, change, run), 'start.json');
export const journalFile = (project: Project, change: string, run: string) =>
  join(runFolder(project, change, run), 'events.jsonl');

/** Files in the folder of a run. */
export const workspaceFile = (folder: string) => join(folder, 'workspace');
export const userPromptFile = (folder: string) => join(folder, 'user-prompt.md');
/** What a run with --detach prints. */
export const outputLog = (folder: string) => join(folder, 'output.log');
export const setupLog = (folder: string) => join(folder, 'setup.log');
export const notifyLog = (folder: string) => join(folder, 'notify.log');
export const iterationPrompt = (folder: string, iteration: number) =>
  join(folder, iterationFileName(iteration, 'prompt.md'));
export const iterationLog = (folder: string, iteration: number) => join(folder, iterationFileName(iteration, 'log'));
export const reviewPrompt = (folder: string, iteration: number) =>
  join(folder, iterationFileName(iteration, 'review.prompt.md'));
export const reviewLog = (folder: string, iteration: number) =>
  join(folder, iterationFileName(iteration, 'review.log'));
/** `n` counts the commands of the gate from 1. */
export const verifyLog = (folder: string, iteration: number, { n, isRetry }: { n: number; isRetry: boolean }) =>
  join(folder, iterationFileName(iteration, `verify-${n}${isRetry ? '-again' : ''}.log`));
/** `name` tells what is run in the trial worktree. */
export const trialLog = (folder: string, iteration: number, name: string) =>
  join(folder, iterationFileName(iteration, `${name}.log`));
/** Such as `0007.log`. */
export const iterationFileName = (iteration: number, ending: string) =>
  `${String(iteration).padStart(4, '0')}.${ending}`;

/** Files in the folder of a change in the user's state folder. */
export const userRunsFolder = (userState: string) => join(userState, 'runs');
export const userRunFile = (userState: string, run: string) => join(userRunsFolder(userState), `${run}.json`);
export const stepsFile = (userState: string) => join(userState, 'ends');
export const tipsFile = (userState: string) => join(userState, 'tips');
export const basesFile = (userState: string) => join(userState, 'bases');
export const checkpointsFile = (userState: string) => join(userState, 'checkpoints');
export const userContextFile = (userState: string) => join(userState, 'context.txt');
export const userHandoverFile = (userState: string) => join(userState, 'handover.json');
/** The line that Spool added to the context when a landing failed. */
export const landingNoteFile = (userState: string) => join(userState, 'landing-note');
export const landingFile = (userState: string) => join(userState, 'landing.json');
export const guardFile = (userState: string) => join(userState, 'guard.json');
/** The requests to runs that the user has sent. */
export const requestsFile = (userState: string) => join(userState, 'requests');
export const acceptedFile = (userState: string) => join(userState, 'accepted.json');
/** What `spool publish` has pushed. */
export const pushesFile = (userState: string) => join(userState, 'pushes');
/** Which scenarios are proven by what. */
export const ledgerFile = (userState: string) => join(userState, 'ledger.json');
/** What the user has accepted of weakened tests. */
export const acceptedTestsFile = (userState: string) => join(userState, 'accepted-tests.json');
/** Which evidence failed without the change. */
export const redFirstFile = (userState: string) => join(userState, 'red-first.json');
/** The hash of the archive journal that Spool has written. The project has one for all changes, like `repositoryFile`. */
export const archiveHashFile = (userState: string) => join(dirname(userState), 'archive-journal');
export const repositoryFile = (userState: string) => join(dirname(userState), 'repository.json');
