import { fstatSync, readdirSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { fileKey } from '../git/find-skipped.ts';

/** A reader that was started together with Spool may not have opened its file when Spool looks for the first time. */
const mostLooks = 2;

/**
 * The files that Spool's own output goes to, by `fileKey`: those that stdout and stderr were redirected to, and on
 * Linux also those that whoever reads it from a pipe (`| tee night.log`) writes to.
 */
export const createOwnOutput = (): (() => ReadonlySet<string>) => {
  const outputs = [1, 2].map((number) => quietly(() => fstatSync(number)));
  const files = new Set(outputs.filter((stats) => stats?.isFile()).map((stats) => fileKey(stats!)));
  const pipes = outputs.filter((stats) => stats?.isFIFO()).map((stats) => `pipe:[${stats!.ino}]`);
  let looks = 0;
  return () => {
    if (process.platform !== 'linux' || pipes.length === 0 || looks === mostLooks) return files;
    looks++;
    for (const key of filesBehind(pipes)) files.add(key);
    return files;
  };
};

/** What the readers of these pipes write to, and the readers of their pipes. */
const filesBehind = (pipes: readonly string[]): Set<string> => {
  const found = new Set<string>();
  const seen = new Set<number>([process.pid]);
  let processes = readdirSync('/proc').map(Number).filter(Number.isInteger);
  for (let wanted = new Set(pipes); wanted.size > 0;) {
    const next = new Set<string>();
    const readers = processes.filter((pid) => !seen.has(pid) && reads(pid, wanted));
    for (const pid of readers) {
      seen.add(pid);
      for (const { target, stats } of writtenBy(pid)) {
        if (stats?.isFile()) found.add(fileKey(stats));
        if (target.startsWith('pipe:')) next.add(target);
      }
    }
    processes = processes.filter((pid) => !seen.has(pid));
    wanted = next;
  }
  return found;
};

const reads = (pid: number, pipes: ReadonlySet<string>): boolean =>
  descriptorsOf(pid).some(({ path, target }) => pipes.has(target) && !isForWriting(pid, path));

const writtenBy = (pid: number): { target: string; stats: Stats | null }[] =>
  descriptorsOf(pid)
    .filter(({ path }) => isForWriting(pid, path))
    .map(({ path, target }) => ({ target, stats: quietly(() => statSync(path)) }));

/** None of a process that is gone, or not ours to look into. */
const descriptorsOf = (pid: number): { path: string; target: string }[] =>
  (quietly(() => readdirSync(`/proc/${pid}/fd`)) ?? []).map((number) => {
    const path = `/proc/${pid}/fd/${number}`;
    return { path, target: quietly(() => readlinkSync(path)) ?? '' };
  });

const isForWriting = (pid: number, path: string): boolean => {
  const number = path.slice(path.lastIndexOf('/') + 1);
  const flags = /^flags:\s+(\d+)/m.exec(quietly(() => readFileSync(`/proc/${pid}/fdinfo/${number}`, 'latin1')) ?? '');
  return flags !== null && (Number.parseInt(flags[1]!, 8) & 3) !== 0;
};

const quietly = <Value>(look: () => Value): Value | null => {
  try {
    return look();
  } catch {
    return null;
  }
};
