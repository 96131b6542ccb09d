/** The oldest git that has everything Spool depends on: `worktree list -z` (2.36) and `safe.bareRepository` (2.38). */
export const minimumGit = '2.38';

/** Returns the version in the output of `git --version` if it is too old; null otherwise, or if there is none. */
export const outdatedVersion = (output: string): string | null => {
  const [, version, major, minor] = /(?<![\d.])((\d{1,5})\.(\d{1,5})[\d.]{0,20})/.exec(output) ?? [];
  if (version === undefined) return null;
  const [minMajor, minMinor] = minimumGit.split('.').map(Number) as [number, number];
  const isEnough = Number(major) > minMajor || (Number(major) === minMajor && Number(minor) >= minMinor);
  return isEnough ? null : version.replace(/\.$/, '');
};
