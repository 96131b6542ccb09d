import { git } from './call/git.ts';
import { toUtf8 } from './paths.ts';

/** The tracked and the new files below a folder, relative to it, without ignored ones; null if git cannot list them. */
export const listedFiles = async (cwd: string): Promise<string[] | null> => {
  const { code, stdout } = await git(['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd });
  return code === 0 ? [...new Set(stdout.split('\0').filter(Boolean))].map(toUtf8) : null;
};
