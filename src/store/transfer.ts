import { dirname, join, relative, sep } from 'node:path';
import { createFolder, filesBelow } from '../files/folders.ts';
import { stampOf } from '../files/stamp.ts';
import { statsOf } from '../files/read.ts';
import { readSafely, writeSafely } from '../files/safe.ts';
import { isObject, parseJson } from '../text/shape.ts';
import type { ChangeRef } from './change-ref.ts';
import { makeRalphFolder } from './folders.ts';
import { ralphFolder, worktreePath } from './paths.ts';
import { userStateFolder } from './user-state/folder.ts';

/*
 * Everything that another machine needs to continue the runs of a change: the folder of the change in .spool/.state, as
 * `state/…`, and what the user's state folder knows about it, as `record/…`.
 */

/** Belongs to one process or one machine. */
const isLocal = (path: string): boolean =>
  /^state\/(?:lock|queued|removed|taken-out|control\.jsonl|agent)(?:\/|$)/.test(path) || path === 'record/requests';

/** A longer log stays on its machine. */
const maxFile = 8 * 1024 * 1024;

export interface TransferableFile {
  readonly path: string;
  /** Changes when the file does. */
  readonly stamp: string;
  /** null if it was deleted in the meantime. */
  read(): Buffer | null;
}

/** Lists the files of a change in a stable order. Links and other special files are left out. */
export const transferableFiles = (of: ChangeRef): TransferableFile[] =>
  rootsOf(of)
    .flatMap(({ name, folder }) => filesBelow(folder).map((file) => ({ path: `${name}/${file}`, folder, file })))
    .filter(({ path }) => !isLocal(path))
    .flatMap(({ path, folder, file }) => {
      const stats = statsOf(join(folder, file));
      if (!stats?.isFile() || stats.size > maxFile) return [];
      return [
        { path, stamp: stampOf(stats), read: () => withoutSecrets(path, readSafely(join(folder, file), maxFile)) },
      ];
    });

/** The user state has the settings of a run in full. What leaves the machine is as in state.json, where secrets are masked. */
const withoutSecrets = (path: string, content: Buffer | null): Buffer | null => {
  if (content === null || !/^record\/runs\/[^/]+\.json$/.test(path)) return content;
  const versions = parseJson(content.toString('utf8'));
  if (!Array.isArray(versions)) return null;
  const masked = versions.map((version: unknown) =>
    isObject(version) && isObject(version.written) ? version.written : version,
  );
  return Buffer.from(`${JSON.stringify(masked, null, 2)}\n`);
};

/** Writes the files of a change whose runs another machine has recorded, and adapts them to the folder of this project. */
export const writeTransferred = (of: ChangeRef, files: ReadonlyMap<string, Buffer>): void => {
  makeRalphFolder(of.project, of.change);
  const folders = new Map(rootsOf(of).map(({ name, folder }) => [name, folder]));
  for (const [path, content] of files) {
    const [name = '', ...rest] = path.split('/');
    const folder = folders.get(name);
    if (folder === undefined || isLocal(path) || rest.length === 0 || rest.some(isUnsafeName)) continue;
    const file = join(folder, ...rest);
    createFolder(dirname(file));
    writeSafely(file, moved(of, path, content));
  }
};

const isUnsafeName = (name: string): boolean => name === '' || name === '.' || name === '..' || /[/\\\0]/.test(name);

const rootsOf = ({ project, change, env }: ChangeRef) => [
  { name: 'state', folder: ralphFolder(project, change) },
  { name: 'record', folder: userStateFolder(project, change, env) },
];

/** Files that name the folder in which the agents of a run work. */
const namesWorkspace =
  /^(?:state\/state\.json|state\/runs\/[^/]+\/(?:start\.json|workspace)|record\/runs\/[^/]+\.json)$/;

const moved = (of: ChangeRef, path: string, content: Buffer): string | Buffer => {
  if (!namesWorkspace.test(path)) return content;
  const text = content.toString('utf8');
  if (path.endsWith('/workspace')) return `${movedPath(of, text.trimEnd())}\n`;
  const value = parseJson(text);
  return value === undefined ? content : `${JSON.stringify(withWorkspace(of, value), null, 2)}\n`;
};

/** Adapts a view, or a list of the versions of a run, to the folder of this project. */
export const withWorkspace = (of: ChangeRef, value: unknown): unknown => {
  if (Array.isArray(value)) return value.map((each) => withWorkspace(of, each));
  if (!isObject(value)) return value;
  const { workspace, written } = value;
  return {
    ...value,
    ...(isObject(workspace) && {
      workspace: {
        ...workspace,
        ...(typeof workspace.root === 'string' && { root: movedPath(of, workspace.root) }),
        ...(typeof workspace.worktree === 'string' && { worktree: movedPath(of, workspace.worktree) }),
      },
    }),
    ...(isObject(written) && { written: withWorkspace(of, written) }),
  };
};

/** The same folder in this project: its worktree, a folder below that, or the project itself. */
const movedPath = ({ project, change }: ChangeRef, path: string): string => {
  const [, below] = path.split(`${sep}.spool${sep}worktrees${sep}`);
  if (below === undefined) return project.root;
  const worktree = worktreePath(project, change);
  const inside = relative(change, below);
  return inside === '' || inside.startsWith('..') ? worktree : join(worktree, inside);
};
