/*
 * Selects the variables of the user's environment that reach agents, the commands of a run, and hooks. A list can only
 * remove variables: if both the project and the user have a list, a variable must be in both.
 */

/** Names and prefixes of variables, such as `CI` and `AWS_*`. */
export type PassList = readonly string[];

export const isPassName = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,200}\*?$/.test(value);

const namesIn = (names: string): PassList => names.trim().split(/\s+/);

/** Most programs need these to run as the user expects, and git needs them to commit under the user's name. */
const alwaysPassed = `
  PATH HOME USER LOGNAME SHELL SHLVL PWD TMPDIR TMP TEMP XDG_* SPOOL_ITERATION SPOOL_OWNER
  TERM COLORTERM NO_COLOR FORCE_COLOR COLUMNS LINES LANG LANGUAGE LC_* TZ
  HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
  NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR
  GIT_AUTHOR_* GIT_COMMITTER_* GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM EMAIL GNUPGHOME GPG_TTY
`;

const alwaysPassedOnWindows = `
  SystemRoot SystemDrive ComSpec PATHEXT windir USERPROFILE USERNAME HOMEDRIVE HOMEPATH
  APPDATA LOCALAPPDATA ProgramData ProgramFiles* CommonProgramFiles* PROCESSOR_* OS
`;

/** Returns the variables that every list allows; all of them if there is no list. */
export const filterEnvironment = (
  lists: readonly PassList[],
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): NodeJS.ProcessEnv => {
  if (lists.length === 0) return env;
  const isWindows = platform === 'win32';
  const isAlwaysPassed = matcher(namesIn(isWindows ? alwaysPassed + alwaysPassedOnWindows : alwaysPassed), isWindows);
  const matchers = lists.map((list) => matcher(list, isWindows));
  const isPassed = (name: string) => isAlwaysPassed(name) || matchers.every((matches) => matches(name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isPassed(name)));
};

const matcher = (list: PassList, ignoresCase: boolean): ((name: string) => boolean) => {
  const fold = (name: string) => (ignoresCase ? name.toUpperCase() : name);
  const names = new Set(list.filter((each) => !each.endsWith('*')).map(fold));
  const prefixes = list.filter((each) => each.endsWith('*')).map((each) => fold(each.slice(0, -1)));
  return (name) => names.has(fold(name)) || prefixes.some((prefix) => fold(name).startsWith(prefix));
};
