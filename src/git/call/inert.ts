/**
 * Prevents git from running programs that a repository, or a nested one, configures. Every git command that Spool uses
 * has a row here, so that none is called without considering what it can start. Pure.
 */

/** Flags that turn off what a setting of the repository can turn on. */
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
  clone: ['--no-recurse-submodules'],
  diff: ['--no-ext-diff', '--no-textconv', '--submodule=short', '--ignore-submodules=dirty'],
  'diff-files': ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty'],
  'diff-index': ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty'],
  'diff-tree': ['--no-ext-diff', '--no-textconv'],
  'fast-import': [],
  fetch: ['--no-recurse-submodules', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance'],
  'for-each-ref': [],
  'hash-object': [],
  hook: [],
  init: [],
  log: ['--no-ext-diff', '--no-textconv', '--no-show-signature'],
  'ls-files': [],
  'ls-remote': [],
  'ls-tree': [],
  merge: [],
  'merge-base': [],
  'merge-file': [],
  mktree: [],
  push: ['--no-recurse-submodules', '--no-signed'],
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

/** A git command and its arguments. */
export type GitArguments = readonly [keyof typeof flags, ...string[]];

/** Passed with `-c`, so they also apply to the processes that git starts in nested repositories. */
const settings = [
  // The defaults of git. With a negative one, git waits forever for a lock.
  'core.filesRefLockTimeout=100',
  'core.fsmonitor=false',
  'core.packedRefsTimeout=1000',
  'diff.ignoreSubmodules=dirty',
  'rebase.instructionFormat=%s',
  // A folder .git/rr-cache is enough to enable it, and git writes through links in it.
  'rerere.autoUpdate=false',
  'rerere.enabled=false',
  'safe.bareRepository=explicit',
  'status.submoduleSummary=false',
  'submodule.recurse=false',
];

/** Hooks that the commands above can run. Since git 2.54, hooks can also be configured by settings. */
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
  /** Runs the hooks of the repository: the user would run this command as well. */
  readonly hooks: boolean;
  /** Additional settings, as `key=value`. */
  readonly config?: readonly string[];
}

/** Returns all arguments of a git process. */
export const inert = ([command, ...rest]: GitArguments, { hooks, config = [] }: InertOptions): string[] => [
  ...[...settings, ...(hooks ? [] : noHooks), ...config].flatMap((setting) => ['-c', setting]),
  command,
  ...flags[command],
  ...rest,
];

/** Variables that name another repository or change how git works. */
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

/**
 * Disables replacement objects: `git replace` would change a checkpoint without changing its id. git warns about a
 * grafts file that exists, even an empty one.
 */
const asStored = { GIT_NO_REPLACE_OBJECTS: '1', GIT_GRAFT_FILE: '/dev/null/none' };

/** Returns an environment that selects the repository of the current folder, with its objects as stored. */
export const withoutForeign = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const own = { ...env };
  for (const name of foreign) delete own[name];
  return { ...own, ...asStored };
};

/** For commands that only read or run in a nested repository: they fetch nothing, because remotes can name programs. */
export const noFetch = { GIT_ALLOW_PROTOCOL: '', GIT_NO_LAZY_FETCH: '1' };
