import { relative } from 'node:path';
import { userError } from '../../errors.ts';
import { type Aside, putBackLeft, setAside, untrackedInTheWay } from '../../git/aside.ts';
import { fastForward, holderOf } from '../../git/branches.ts';
import { keepPresent } from '../../git/checkpoint.ts';
import { readable } from '../../git/git.ts';
import { findWorkTree, gitFolderOf } from '../../git/worktree.ts';
import { stateFolder } from '../../project/find.ts';
import { lockTree, newScratch, readState } from '../../project/state.ts';
import { oneLine } from '../../report/format.ts';
import { planned } from '../ralph/place.ts';
import type { Landing } from './landing.ts';

/** How many files are named. */
const shown = 5;

/** Moves the base to the commit, with the files of the folder in which it is checked out. */
export const moveAhead = async (landing: Landing, commit: string): Promise<void> => {
  const { project, change, base } = landing;
  const holder = await holderOf(project.root, base);
  if (holder === null) return forward(landing, commit, null);
  const folder = (await gitFolderOf(holder))!;
  // Our own is locked already.
  const release = folder === (await gitFolderOf(project.root)) ? () => {} : lockTree(folder, change);
  try {
    await forward(landing, commit, await makeWay(landing, holder, commit));
  } finally {
    release();
  }
};

const forward = async ({ project, base }: Landing, commit: string, aside: Aside | null): Promise<void> => {
  const moved = await fastForward(project.root, base, commit);
  if (moved.ok) return aside?.drop();
  aside?.putBack();
  if (moved.files.length > 0) throw userError('land-blocked', named(moved.files), base);
  throw userError('bad-branch', base, moved.why);
};

/**
 * The change, its module and the config file may never have been committed where the base is checked out, while the
 * branch has them. They give way, once they are kept; anything else that is untracked does not.
 */
const makeWay = async (landing: Landing, holder: string, commit: string): Promise<Aside | null> => {
  const { project, change, base, prefix, call } = landing;
  const planning = (await planned(project, change)).map((path) => `${prefix}${path}`);
  await putBackLeft(holder, [`${prefix}.spool`]);
  const { own, others } = await untrackedInTheWay(holder, [`refs/heads/${base}`, commit], planning);
  if (others.length > 0) throw userError('land-blocked', named(others.map(readable)), base);
  if (own.length === 0) return null;
  const found = await findWorkTree(holder, newScratch(stateFolder(project)));
  const run = (await readState(project, change))?.run ?? 'land';
  const kept = found.kind === 'found' ? await keepPresent(found.tree, { change, run }) : null;
  if (kept === null) throw userError('not-kept', holder);
  const files = own.map(readable);
  const back = `git -C ${quoted(relative(call.cwd, holder) || '.')} restore --source=${kept.commit.slice(0, 12)} -- ${files.map(quoted).join(' ')}`;
  call.terminal.say(
    `Untracked on ${base} and taken from the branch: ${named(files)}. Yours is kept as ${kept.name}; back with: ${back}\n`,
  );
  return setAside(holder, own);
};

const named = (files: readonly string[]): string => {
  const first = files.slice(0, shown).map((name) => oneLine(name));
  return files.length > shown ? `${first.join(', ')} and ${files.length - shown} more` : first.join(', ');
};

/** As a shell reads it. */
const quoted = (path: string): string =>
  /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
