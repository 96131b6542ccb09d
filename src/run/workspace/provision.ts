import { filesMatching } from '../../git/linked-worktrees.ts';
import { toUtf8 } from '../../git/paths.ts';
import type { Options } from '../../config/flags.ts';
import { runShell, type ShellResult } from '../../process/shell.ts';
import { copyInside } from '../../files/write-inside.ts';
import { type Project } from '../../store/project.ts';
import type { Redactor } from '../../secrets/redact.ts';
import type { Sandbox } from '../../process/sandbox-types.ts';
import { includePatterns } from './provisioned-worktree.ts';
import { type StopSignals } from '../../process/signals.ts';

export interface ProvisionRequest {
  readonly project: Project;
  readonly options: Pick<Options, 'worktreeSetup' | 'stopGrace'>;
  readonly env: NodeJS.ProcessEnv;
  /** The folder of the project in the worktree. */
  readonly root: string;
  readonly logFile: string;
  /** Called right before the setup runs. Throws if it must not run. */
  readonly checkSetup: (root: string) => void;
  /** The tag by which its processes are found if Spool is killed. */
  readonly tagPrefix: string;
  readonly stopSignals: StopSignals;
  readonly redactor: Redactor;
  readonly sandbox: Sandbox | null;
}

/** Prepares a worktree for running commands: copies the files of .worktreeinclude, then runs the setup of the user. */
export const provision = async (workspace: ProvisionRequest): Promise<ShellResult['outcome']> => {
  const { project, options, root } = workspace;
  const include = includePatterns(project);
  if (include !== null)
    for (const name of (await filesMatching(project.root, include)).map(toUtf8))
      if (!/^\.spool\/(?:worktrees|\.state)\//.test(name)) copyInside(project.root, root, name);
  if (options.worktreeSetup === null) return 'passed';
  workspace.checkSetup(root);
  const { outcome } = await runShell({
    ...workspace,
    command: options.worktreeSetup,
    cwd: root,
    tag: `${workspace.tagPrefix}/setup`,
    timeoutMs: 30 * 60_000,
    stopGraceMs: options.stopGrace,
  });
  return outcome;
};
