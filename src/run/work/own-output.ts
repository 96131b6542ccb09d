import { fstatSync, readdirSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { fileKey } from '../../git/tree-snapshots/find-skipped.ts';

/** A reader that was started together with Spool may not have opened its file at the first scan. */
const maxScans = 2;

/**
 * Returns a function that lists the files that receive Spool's own output, by `fileKey`: files that stdout and stderr
 * are redirected to, and on Linux also files that the readers of a pipe (`| tee night.log`) write to.
 */
export const createOwnOutput = (): (() => ReadonlySet<string>) => {
  const outputs = [1, 2].map((number) => orNull(() => fstatSync(number)));
  const files = new Set(outputs.filter((stats) => stats?.isFile()).map((stats) => fileKey(stats!)));
  const pipes = outputs.filter((stats) => stats?.isFIFO()).map((stats) => `pipe:[${stats!.ino}]`);
  let scans = 0;
  return () => {
    if (process.platform !== 'linux' || pipes.length === 0 || scans === maxScans) return files;
    scans++;
    for (const key of filesBehind(pipes)) files.add(key);
    return files;
  };
};

/** Returns the files that the readers of these pipes write to, directly or through further pipes. */
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
    .map(({ path, target }) => ({ target, stats: orNull(() => statSync(path)) }));

/** Returns an empty list if the process is gone or belongs to another user. */
const descriptorsOf = (pid: number): { path: string; target: string }[] =>
  (orNull(() => readdirSync(`/proc/${pid}/fd`)) ?? []).map((number) => {
    const path = `/proc/${pid}/fd/${number}`;
    return { path, target: orNull(() => readlinkSync(path)) ?? '' };
  });

const isForWriting = (pid: number, path: string): boolean => {
  const number = path.slice(path.lastIndexOf('/') + 1);
  const flags = /^flags:\s+(\d+)/m.exec(orNull(() => readFileSync(`/proc/${pid}/fdinfo/${number}`, 'latin1')) ?? '');
  return flags !== null && (Number.parseInt(flags[1]!, 8) & 3) !== 0;
};

const orNull = <Value>(look: () => Value): Value | null => {
  try {
    return look();
  } catch {
    return null;
  }
};
