/**
 * Names the Node that code was compiled by. V8 rejects the code of another version or of other options, and processes
 * with different options must not replace each other's. Returns null if code must not be stored: for coverage, for a
 * profiler or a debugger, and if the user has turned it off in the way of Node's own cache.
 */
export const nodeKey = ({
  version,
  platform,
  arch,
  execArgv,
  env,
}: Pick<NodeJS.Process, 'version' | 'platform' | 'arch' | 'execArgv' | 'env'> = process): string | null => {
  if (env.NODE_V8_COVERAGE || env.NODE_DISABLE_COMPILE_CACHE) return null;
  const options = [...execArgv, ...(env.NODE_OPTIONS ?? '').split(' ')].filter((option) => option !== '');
  if (!options.every((option) => commonOption.test(option))) return null;
  return [version, platform, arch, ...options.map((option) => option.slice(2))].join('-');
};

/** Limits of memory are the only options that many users set. */
const commonOption = /^--max-(?:old-space|semi-space)-size=\d{1,6}$/;
