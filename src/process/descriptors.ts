import { openSync, readdirSync, readFileSync } from 'node:fs';

/** What a file descriptor of a child is: a pipe, nothing, that of Spool, a channel for messages, or an open file. */
export type Stdio = 'pipe' | 'ignore' | 'inherit' | 'ipc' | number;

/**
 * Returns the stdio of a child, with the file descriptors that Spool inherited from its caller replaced by /dev/null.
 * Node passes most of them on, and an open folder or lock would lead out of a sandbox. They are not closed, because the
 * caller's lock may depend on them.
 */
export const withoutInheritedFds = (stdio: readonly Stdio[]): Stdio[] => {
  inherited ??= findInherited();
  const last = inherited.at(-1);
  const all = [...stdio];
  if (last === undefined) return all;
  devNull ??= openSync('/dev/null', 'r+');
  while (all.length <= last) all.push('ignore');
  for (const number of inherited) if (all[number] === 'ignore') all[number] = devNull;
  return all;
};

let inherited: readonly number[] | undefined;
let devNull: number | undefined;

/** Returns them in ascending order. Node closes what it opened itself in children; on macOS it closes all of them. */
const findInherited = (): readonly number[] =>
  process.platform === 'linux'
    ? readdirSync('/proc/self/fd')
        .map(Number)
        .filter((number) => number > 2 && isInheritable(number))
        .toSorted((a, b) => a - b)
    : [];

/** O_CLOEXEC. /proc shows the flags in octal. */
const closeOnExec = 0o2000000;

const isInheritable = (number: number): boolean => {
  try {
    const [, flags = '0'] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${number}`, 'latin1')) ?? [];
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // The descriptor of the directory listing, which is closed by now.
    return false;
  }
};
