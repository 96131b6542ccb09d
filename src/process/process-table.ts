import { readProc } from './start-time.ts';
import { processIds } from './tree.ts';

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly start: string;
}

export type Processes = ReadonlyMap<number, Process>;

/** Returns the running processes except our own, by ID; none outside of Linux. */
export const readProcesses = (): Processes =>
  new Map(
    processIds().flatMap((pid) => {
      const stat = readProc(`/proc/${pid}/stat`);
      // The name is in parentheses and can contain any character.
      const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (!fields || fields[0] === 'Z' || fields[0] === 'X') return [];
      const [, parent, group] = fields.map(Number);
      return [[pid, { pid, parent: parent!, group: group!, start: fields[19]! }] as const];
    }),
  );

export const descendantsOf = (root: number, all: Processes): number[] => {
  const children = new Map<number, number[]>();
  for (const { pid, parent } of all.values()) children.set(parent, [...(children.get(parent) ?? []), pid]);
  const found = new Set<number>([root]);
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child);
  found.delete(root);
  return [...found];
};
