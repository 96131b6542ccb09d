import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { longestText } from '../../files/safe.ts';
import { readRegular } from '../../files/regular.ts';
import { currentScope } from '../../process/scope.ts';
import { git, toUtf8 } from '../call/git.ts';
import { fingerprint, type WorkTree } from '../work-tree.ts';

/**
 * Reads the ignore rules that are in no tree, those that count least first: the user's own, and .git/info/exclude. Git
 * is asked where the former are, and again only when its configuration has changed.
 */
export const createRulesReader = (tree: WorkTree): (() => Promise<string>) => {
  const files = configFiles(tree);
  let [known, file]: [string | null, string | null] = [null, null];
  return async () => {
    const now = files.map(safeFingerprint).join('\n');
    if (now !== known) [known, file] = [now, await userRulesFile(tree)];
    return [file, tree.exclude].map((each) => (each === null ? '' : readText(each))).join('\n');
  };
};

const userFolder = () => join(currentScope().env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'git');

/** Where git looks for settings of this work tree, whether there is a file or not. */
export const configFiles = ({ gitDir, exclude }: WorkTree): string[] => {
  const global = currentScope().env.GIT_CONFIG_GLOBAL;
  return [
    // Linked work trees share it, as they share info/exclude.
    join(dirname(dirname(exclude)), 'config'),
    join(gitDir, 'config.worktree'),
    ...(global === undefined ? [join(homedir(), '.gitconfig'), join(userFolder(), 'config')] : [global]),
  ];
};

/** null when the user has said that there is none. */
const userRulesFile = async ({ root }: WorkTree): Promise<string | null> => {
  const { code, stdout } = await git(['config', '-z', '--path', '--get', 'core.excludesFile'], { cwd: root });
  if (code !== 0) return join(userFolder(), 'ignore');
  const file = toUtf8(stdout).replace(/\0$/, '');
  return file === '' ? null : resolve(root, file);
};

/** Of a file out of reach nothing can be told. */
export const safeFingerprint = (file: string): string => {
  try {
    return fingerprint(file);
  } catch {
    return '';
  }
};

const readText = (file: string): string => {
  try {
    return readRegular(file, { limit: longestText })?.toString('utf8') ?? '';
  } catch {
    return '';
  }
};
