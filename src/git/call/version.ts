import { userError } from '../../errors.ts';
import { minimumGit, outdatedVersion } from './minimum.ts';
import { gitProgram } from './program.ts';
import { runGit } from './run.ts';

/** Throws if the installed git is too old. */
export const requireRecentGit = async (cwd: string): Promise<void> => {
  const version = await outdatedGit(cwd);
  if (version !== null) throw userError('old-git', version, minimumGit);
};

/** Returns the version of the installed git if it is too old; null otherwise, or without git. */
export const outdatedGit = (cwd: string): Promise<string | null> => {
  const program = gitProgram(cwd);
  const known = outdated.get(program) ?? runGit(['--version'], { cwd }).then(({ stdout }) => outdatedVersion(stdout));
  outdated.set(program, known);
  return known;
};

/** Per process, by the path of git. */
const outdated = new Map<string, Promise<string | null>>();
