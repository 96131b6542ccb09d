import { join, resolve } from 'node:path';
import { homeOf } from '../../files/home.ts';
import { textIfReadable } from '../../files/regular.ts';
import { currentScope } from '../../process/scope.ts';
import { git } from '../call/git.ts';
import { toUtf8 } from '../paths.ts';
import { fingerprint, sharedFolderOf, type WorkTree } from '../work-tree.ts';

/**
 * Returns a function that reads the ignore rules that are in no tree, lowest precedence first: those of the user, then
 * .git/info/exclude. It asks git for the file of the user again only if the configuration has changed.
 */
export const createRulesReader = (tree: WorkTree): (() => Promise<string>) => {
  const files = configFiles(tree);
  let [known, file]: [string | null, string | null] = [null, null];
  return async () => {
    const now = files.map(safeFingerprint).join('\n');
    if (now !== known) [known, file] = [now, await userRulesFile(tree)];
    return [file, tree.exclude].map((each) => (each === null ? '' : textIfReadable(each))).join('\n');
  };
};

const userFolder = () => {
  const { env } = currentScope();
  return join(env.XDG_CONFIG_HOME || join(homeOf(env), '.config'), 'git');
};

/** Returns the files in which git looks for settings of this work tree, existing or not. */
export const configFiles = ({ gitDir, exclude }: WorkTree): string[] => {
  const { env } = currentScope();
  const global = env.GIT_CONFIG_GLOBAL;
  return [
    // Shared by linked work trees, like info/exclude.
    join(sharedFolderOf({ exclude }), 'config'),
    join(gitDir, 'config.worktree'),
    ...(global === undefined ? [join(homeOf(env), '.gitconfig'), join(userFolder(), 'config')] : [global]),
  ];
};

/** Returns null if the user disabled the file. */
const userRulesFile = async ({ root }: WorkTree): Promise<string | null> => {
  const { code, stdout } = await git(['config', '-z', '--path', '--get', 'core.excludesFile'], { cwd: root });
  if (code !== 0) return join(userFolder(), 'ignore');
  const file = toUtf8(stdout).replace(/\0$/, '');
  return file === '' ? null : resolve(root, file);
};

/** Returns an empty string for an unreachable file. */
export const safeFingerprint = (file: string): string => {
  try {
    return fingerprint(file);
  } catch {
    return '';
  }
};
