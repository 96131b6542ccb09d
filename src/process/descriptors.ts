import type { StdioOptions } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';

/**
 * What a child gets, and nothing else of what was open when Spool was started: Node passes most of that on, and a folder
 * or a lock of the caller's would lead out of a sandbox. It is covered, not closed, as a lock of the caller's may hang
 * on it.
 */
export const onlyThese = (stdio: StdioOptions): StdioOptions => {
  inherited ??= findInherited();
  const last = inherited.at(-1);
  if (last === undefined) return stdio;
  nothing ??= openSync('/dev/null', 'r+');
  const all = typeof stdio === 'string' ? [stdio, stdio, stdio] : [...stdio];
  while (all.length <= last) all.push('ignore');
  for (const number of inherited) if (all[number] === 'ignore') all[number] = nothing;
  return all;
};

let inherited: readonly number[] | undefined;
let nothing: number | undefined;

/** In order. Whatever Node opens itself is closed in children. On macOS so is the rest. */
const findInherited = (): readonly number[] =>
  process.platform === 'linux'
    ? readdirSync('/proc/self/fd')
        .map(Number)
        .filter((number) => number > 2 && isPassedOn(number))
        .toSorted((a, b) => a - b)
    : [];

/** O_CLOEXEC, in octal as /proc has the flags. */
const closeOnExec = 0o2000000;

const isPassedOn = (number: number): boolean => {
  try {
    const [, flags = '0'] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${number}`, 'latin1')) ?? [];
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // That of the listing itself.
    return false;
  }
};
