/**
 * Keeps git from running programs that a repository names, also one inside of the repository. Every command of git that
 * Spool uses has a row here, so that none is called without thinking of what it can start. Pure.
 */

/** Command-line flags that turn off what a setting of the repository may turn on. */
const flags = {
  '--version': [],
  add: [],
  branch: [],
  'cat-file': [],
  'check-attr': [],
  'check-ignore': [],
  'checkout-index': [],
  commit: [],
  'commit-tree': [],
  config: [],
  diff: ['--no-ext-diff', '--no-textconv', '--submodule=short', '--ignore-submodules=dirty'],
  'diff-files': ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty'],
  'diff-index': ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty'],
  'diff-tree': ['--no-ext-diff', '--no-textconv'],
  'for-each-ref': [],
  'hash-object': [],
  log: ['--no-ext-diff', '--no-textconv', '--no-show-signature'],
  'ls-files': [],
  'ls-tree': [],
  merge: [],
  'merge-base': [],
  'merge-file': [],
  mktree: [],
  'read-tree': [],
  rebase: [],
  reset: [],
  restore: [],
  'rev-list': [],
  'rev-parse': [],
  'show-ref': [],
  status: ['--ignore-submodules=dirty'],
  switch: [],
  'symbolic-ref': [],
  'update-index': [],
  'update-ref': [],
  var: [],
  worktree: [],
  'write-tree': [],
} satisfies Record<string, readonly string[]>;

/** A command of git and its arguments. */
export type GitArguments = readonly [keyof typeof flags, ...string[]];

/** Given with `-c`, these hold for the git processes that git starts in nested repositories as well. */
const settings = [
  'core.fsmonitor=false',
  'diff.ignoreSubmodules=dirty',
  'rebase.instructionFormat=%s',
  // A folder .git/rr-cache alone turns it on, and git writes through links in there.
  'rerere.autoUpdate=false',
  'rerere.enabled=false',
  'safe.bareRepository=explicit',
  'status.submoduleSummary=false',
  'submodule.recurse=false',
];

/** Hooks that the commands above can run. From git 2.54 on, settings can name hooks as well as files can. */
const hookEvents = [
  'applypatch-msg',
  'commit-msg',
  'fsmonitor-watchman',
  'post-applypatch',
  'post-checkout',
  'post-commit',
  'post-index-change',
  'post-merge',
  'post-rewrite',
  'pre-applypatch',
  'pre-auto-gc',
  'pre-commit',
  'pre-merge-commit',
  'pre-rebase',
  'prepare-commit-msg',
  'reference-transaction',
];

const noHooks = ['core.hooksPath=/dev/null', ...hookEvents.map((event) => `hook.${event}.enabled=false`)];

export interface InertOptions {
  /** Hooks of the repository run: the command does what its user would do as well. */
  readonly hooks: boolean;
  /** More settings, as `key=value`. */
  readonly config?: readonly string[];
}

/** All arguments of a git process. */
export const inert = ([command, ...rest]: GitArguments, { hooks, config = [] }: InertOptions): string[] => [
  ...[...settings, ...(hooks ? [] : noHooks), ...config].flatMap((setting) => ['-c', setting]),
  command,
  ...flags[command],
  ...rest,
];

/** Variables that name another repository, or change what git does in this one. */
const foreign = [
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_ATTR_SOURCE',
  'GIT_COMMON_DIR',
  'GIT_CONFIG',
  'GIT_DIR',
  'GIT_EXTERNAL_DIFF',
  'GIT_GLOB_PATHSPECS',
  'GIT_GRAFT_FILE',
  'GIT_ICASE_PATHSPECS',
  'GIT_IMPLICIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_LITERAL_PATHSPECS',
  'GIT_NAMESPACE',
  'GIT_NOGLOB_PATHSPECS',
  'GIT_NO_REPLACE_OBJECTS',
  'GIT_OBJECT_DIRECTORY',
  'GIT_PREFIX',
  'GIT_QUARANTINE_PATH',
  'GIT_REPLACE_REF_BASE',
  'GIT_SHALLOW_FILE',
  'GIT_WORK_TREE',
];

/** Nothing stands in for another object: `git replace` would change a checkpoint, and leave its id as it was. git warns of a file of grafts that is there, also an empty one. */
const asStored = { GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null/none' };

/** An environment in which no repository but that of the current folder is meant, with its objects as they are stored. */
export const withoutForeign = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const own = { ...env };
  for (const name of foreign) delete own[name];
  return { ...own, ...asStored };
};

/** For a git process that only looks, or that is in a nested repository: it fetches nothing, as remotes may name programs. */
export const noFetch = { GIT_ALLOW_PROTOCOL: '', GIT_NO_LAZY_FETCH: '1' };
