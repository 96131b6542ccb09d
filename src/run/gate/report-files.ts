import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { globSync } from 'tinyglobby';
import { createFolder } from '../../files/folders.ts';
import { statsOf } from '../../files/read.ts';
import { stampOf } from '../../files/stamp.ts';
import { filesInside, readInside } from '../../files/inside.ts';
import { removeSafely } from '../../files/safe.ts';
import type { Sandbox } from '../../process/sandbox-types.ts';
import { maxReport } from '../../proof/reports/read-report.ts';
import { newPrivateFolder } from '../../store/folders.ts';

export interface ReportFile {
  /** As a person would find it: relative to the root, or its name in the private folder. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** Collects the reports of one attempt of one command. */
interface ReportFiles {
  /** For the environment of the command. */
  readonly variables: Readonly<Record<string, string>>;
  /** Returns what the command has written. Called once, after it has ended. */
  collect(): ReportFile[];
  /** Deletes the folder. */
  discard(): void;
}

export interface ReportFilesRequest {
  /** The folder in which the command runs. */
  readonly root: string;
  /** Patterns relative to it. */
  readonly patterns: readonly string[];
  readonly sandbox: Sandbox | null;
  readonly env: NodeJS.ProcessEnv;
}

/** The name of the variable with the folder for reports. */
const reportsVariable = 'SPOOL_REPORTS';

const maxFiles = 500;

/**
 * Called right before the command starts. The folder is new and empty, and its name is unpredictable. A file that a
 * pattern finds counts only if the command has written it: one that is the same as before, regardless of its times, is
 * left out.
 */
export const openReportFiles = ({ root, patterns, sandbox, env }: ReportFilesRequest): ReportFiles => {
  const folder = newReportFolder(sandbox, env);
  const before = new Map(matching(root, patterns).map((path) => [path, identityOf(root, path)]));
  return {
    variables: { [reportsVariable]: folder },
    collect: () => {
      const own = filesInside(folder, '').slice(0, maxFiles);
      const matched = matching(root, patterns).filter((path) => before.get(path) !== identityOf(root, path));
      return [...own.flatMap((name) => fileAt(folder, name)), ...matched.flatMap((name) => fileAt(root, name))];
    },
    discard: () => removeSafely(folder),
  };
};

/** In a sandbox, agents cannot write to this folder, and commands can. */
const newReportFolder = (sandbox: Sandbox | null, env: NodeJS.ProcessEnv): string => {
  if (sandbox === null) return newPrivateFolder(env);
  const folder = sandbox.newFile();
  createFolder(folder);
  return folder;
};

/** The files that patterns find below the root, without following links. */
const matching = (root: string, patterns: readonly string[]): string[] => {
  if (patterns.length === 0) return [];
  const found = globSync([...patterns], {
    cwd: root,
    dot: true,
    followSymbolicLinks: false,
    expandDirectories: false,
    ignore: ['**/.git/**', '**/node_modules/**'],
  });
  return found
    .filter((path) => !path.startsWith('..') && !path.startsWith('/'))
    .toSorted()
    .slice(0, maxFiles);
};

/** Changes whenever a file is replaced or written to. */
const identityOf = (root: string, path: string): string => {
  const stats = statsOf(join(root, path));
  if (stats === undefined) return 'missing';
  const bytes = read(root, path);
  const hash = bytes === null ? 'unreadable' : createHash('sha256').update(bytes).digest('hex');
  return `${stampOf(stats)} ${hash}`;
};

const fileAt = (root: string, name: string): ReportFile[] => {
  const bytes = read(root, name);
  return bytes === null ? [] : [{ name, bytes }];
};

const read = (root: string, path: string): Buffer | null => {
  try {
    return readInside(root, path, maxReport);
  } catch {
    return null;
  }
};
