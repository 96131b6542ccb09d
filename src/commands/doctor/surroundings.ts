import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemProblem } from '../../errors.ts';
import { removeSafely, writeSafely } from '../../files/safe.ts';
import { whyBlocked } from '../../git/call/blocked.ts';
import { outdatedGit } from '../../git/call/version.ts';
import { minimumGit } from '../../git/call/minimum.ts';
import { gitVersion, hasIdentity, workTreeAt } from '../../git/repository.ts';
import { type Project } from '../../store/project.ts';
import { hideStateFromGit } from '../../store/folders.ts';
import type { Terminal } from '../../report/terminal.ts';
import { commandLine } from '../../text/shell-words.ts';
import { type Check, fail, ok, warn } from './check.ts';
import { stateFolder } from '../../store/paths.ts';

/** Everything that a loop needs besides an agent. */
export const checkSurroundings = async (cwd: string, project: Project | null, terminal: Terminal): Promise<Check[]> => [
  ...(await checkGit(cwd)),
  checkProject(cwd, project),
  ...(project ? [checkState(project)] : []),
  checkDisk(project?.root ?? tmpdir()),
  terminal.isInteractive
    ? ok('terminal', `interactive, ${terminal.columns} columns`)
    : ok('terminal', 'not interactive: plain output, no prompts'),
];

const checkGit = async (cwd: string): Promise<Check[]> => {
  const outdated = await outdatedGit(cwd);
  if (outdated !== null)
    return [
      fail(
        'git',
        `git ${outdated} is too old: Spool needs git ${minimumGit} or later`,
        `install git ${minimumGit} or later`,
      ),
    ];
  const about = await gitVersion(cwd);
  if (about === null) return [warn('git', 'not found, so changes will not be counted or committed', 'install git')];
  const workTree = await workTreeAt(cwd);
  const blocked = whyBlocked(cwd);
  if (blocked !== null)
    return [warn('git', `${about}, but ${blocked}`, 'delete the named pipe, or the setting that names it')];
  if (workTree === 'of-another-user')
    return [
      warn(
        'git',
        `${about} refuses this repository: it belongs to another user (safe.directory)`,
        commandLine('git', 'config', '--global', '--add', 'safe.directory', cwd),
      ),
    ];
  if (workTree === 'none') return [warn('git', `${about}, but this is not a repository`, 'git init')];
  if (!(await hasIdentity(cwd)))
    return [
      warn(
        'git',
        `${about} has no user.name or user.email, so commits will fail`,
        'git config --global user.email you@example.com',
      ),
    ];
  return [ok('git', about)];
};

const checkProject = (cwd: string, project: Project | null): Check =>
  project ? ok('project', project.root) : warn('project', `no .spool folder in ${cwd} or above it`, 'spool init');

const checkState = (project: Project): Check => {
  const file = join(stateFolder(project), `doctor.${crypto.randomUUID()}`);
  try {
    hideStateFromGit(project);
    writeSafely(file, 'x', 'create');
    removeSafely(file);
    return ok('state', `${stateFolder(project)} is writable`);
  } catch (error) {
    return fail(
      'state',
      `${stateFolder(project)} is not writable: ${systemProblem(error)}`,
      'make the folder writable',
    );
  }
};

const enough = 1024 ** 3;

const checkDisk = (path: string): Check => {
  const { bavail, bsize } = statfsSync(path);
  const free = bavail * bsize;
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
  if (free < enough / 20) return fail('disk', text, 'free some space: logs and commits need it');
  return free < enough ? warn('disk', text, 'free some space before a long run') : ok('disk', text);
};
