/*
 * What of the user's environment reaches agents, the commands of a run and hooks. A list can only take variables away:
 * where the project and the user have one each, a variable must be in both.
 */

/** `CI`, `AWS_*`. */
export type PassList = readonly string[];

export const isPassName = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,200}\*?$/.test(value);

const listOf = (names: string): PassList => names.trim().split(/\s+/);

/** Without these hardly any program runs as its user expects, and git would commit in another name. */
const always = listOf(`
  PATH HOME USER LOGNAME SHELL SHLVL PWD TMPDIR TMP TEMP XDG_* SPOOL_ITERATION SPOOL_OWNER
  TERM COLORTERM NO_COLOR FORCE_COLOR COLUMNS LINES LANG LANGUAGE LC_* TZ
  HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
  NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR
  GIT_AUTHOR_* GIT_COMMITTER_* GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM EMAIL GNUPGHOME GPG_TTY
`);

const onWindows = listOf(`
  SystemRoot SystemDrive ComSpec PATHEXT windir USERPROFILE USERNAME HOMEDRIVE HOMEPATH
  APPDATA LOCALAPPDATA ProgramData ProgramFiles* CommonProgramFiles* PROCESSOR_* OS
`);

/** What of an environment is passed on; all of it when there is no list. */
export const passedBy = (
  lists: readonly PassList[],
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): NodeJS.ProcessEnv => {
  if (lists.length === 0) return env;
  const isWindows = platform === 'win32';
  const isAlways = matcher([...always, ...(isWindows ? onWindows : [])], isWindows);
  const inLists = lists.map((list) => matcher(list, isWindows));
  const isPassed = (name: string) => isAlways(name) || inLists.every((isIn) => isIn(name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isPassed(name)));
};

const matcher = (list: PassList, ignoresCase: boolean): ((name: string) => boolean) => {
  const fold = (name: string) => (ignoresCase ? name.toUpperCase() : name);
  const names = new Set(list.filter((each) => !each.endsWith('*')).map(fold));
  const beginnings = list.filter((each) => each.endsWith('*')).map((each) => fold(each.slice(0, -1)));
  return (name) => names.has(fold(name)) || beginnings.some((beginning) => fold(name).startsWith(beginning));
};
