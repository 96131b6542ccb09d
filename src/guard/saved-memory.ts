import { closeSync, existsSync, fstatSync } from 'node:fs';
import { readJson } from '../files/read.ts';
import { openSafely, removeSafely, replaceSafely, writeAll } from '../files/safe.ts';
import { acceptedFile, guardFile } from '../store/paths.ts';
import { isObject } from '../text/shape.ts';
import type { Accepted, Memory } from './memory.ts';

/** Returns null if nothing is saved, or something that this version cannot use. */
export const loadMemory = (folder: string): Memory | null => {
  const memory = readJson(guardFile(folder)) as Memory | null | undefined;
  const whole = isObject(memory?.seen) && Array.isArray(memory.commands) && isAccepted(memory);
  if (!whole || memory.v !== 2) return null;
  return { ...memory, created: Array.isArray(memory.created) ? memory.created : [] };
};

/**
 * Overwrites in place: this happens twice per iteration, a new file takes five times as long, and only the owner of the
 * lock writes this one. Blanks cover the rest of a longer text, so that a reader never sees that rest.
 */
export const saveMemory = (folder: string, memory: Memory): void => {
  const bytes = Buffer.from(JSON.stringify(memory));
  const descriptor = openSafely(guardFile(folder), 'update');
  try {
    const blanks = Math.max(0, fstatSync(descriptor).size - bytes.length);
    writeAll(descriptor, Buffer.concat([bytes, Buffer.alloc(blanks, ' ')]));
  } finally {
    closeSync(descriptor);
  }
};

/** Leaves the accepted goal for the guard of a run, which may be running in another process. */
export const saveAccepted = (folder: string, accepted: Accepted): void =>
  replaceSafely(acceptedFile(folder), JSON.stringify(accepted));

/** Returns the goal that was accepted and that no guard has taken yet; null if none was. */
export const readAccepted = (folder: string): Accepted | null => {
  const accepted = readJson(acceptedFile(folder));
  return isAccepted(accepted) ? accepted : null;
};

/** The same, for the guard that takes it. */
export const takeAccepted = (folder: string): Accepted | null => {
  if (!existsSync(acceptedFile(folder))) return null;
  try {
    const accepted = readAccepted(folder);
    removeSafely(acceptedFile(folder));
    return accepted;
  } catch {
    return null;
  }
};

/** The next guard expects the goal that it finds. */
export const forgetGoal = (folder: string): void => {
  removeSafely(guardFile(folder));
  removeSafely(acceptedFile(folder));
};

const isAccepted = (value: unknown): value is Accepted =>
  isObject(value) && isObject(value.expected) && Array.isArray(value.expectedTasks);
