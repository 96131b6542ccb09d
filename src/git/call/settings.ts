import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readRegular } from '../../files/regular.ts';
import { runGit } from './run.ts';
import { guardGit } from './guards.ts';
import { includesIn, parseSettings } from './includes.ts';
import { configFiles, safeFingerprint } from '../tree-snapshots/outside-rules.ts';
import { currentGitScope } from './scope.ts';
import { dotGitSignature, type WorkTree } from '../work-tree.ts';

/**
 * Settings that make git run a program that Spool depends on (filters, merge drivers, signing, a partial clone), or use
 * another folder. Settings that start unneeded programs are turned off in `inert`.
 */
const decisive =
  /^(?:core\.(?:sshcommand|worktree)|extensions\.partialclone|filter\..*\.(?:clean|process|smudge)|gc\.recentobjectshook|hook\..*|gpg\.(?:.*\.)?(?:program|defaultkeycommand)|merge\..*\.driver|protocol\..*|remote\..*\.(?:promisor|uploadpack|vcs))$/;

interface Settings {
  /** Decisive settings by key: the effective value and its file. */
  readonly decisive: ReadonlyMap<string, { readonly value: string; readonly file: string }>;
  /** All files that contribute settings. */
  readonly files: readonly string[];
}

/**
 * From now on, the current run and its batch stop calling git once one of these settings is new or has another value.
 * An agent can write to the config of the repository, and must not run programs with the rights of Spool that way.
 * Later runs of a batch in the same work tree compare with what the first one found, before any agent worked there.
 */
export const guardSettings = async (tree: WorkTree): Promise<void> => {
  const { guardedTrees } = currentGitScope();
  if (guardedTrees.has(tree.root)) return;
  const before = await readSettings(tree);
  if (before === null) return;
  guardedTrees.add(tree.root);
  guardGit(() => {
    const now = dotGitSignature(tree.root);
    const isSame = tree.dotGit === null || now === null || now === tree.dotGit;
    return Promise.resolve(isSame ? null : `${join(tree.root, '.git')} was replaced during the run`);
  });
  let { files } = before;
  let known = stampsOf(files);
  let why: string | null = null;
  guardGit(async () => {
    if (stampsOf(files) === known) return why;
    // Taken before reading, so that concurrent changes are detected the next time.
    known = stampsOf(files);
    const now = await readSettings(tree);
    if (now === null) return (why = null);
    if (now.files.join('\n') !== files.join('\n')) [files, known] = [now.files, stampsOf(now.files)];
    return (why = problemIn(before, now));
  });
};

const problemIn = (before: Settings, now: Settings): string | null => {
  const changed = [...now.decisive].filter(([key, { value }]) => before.decisive.get(key)?.value !== value);
  const [first, ...more] = changed.map(([key, { file }]) => `${key} in ${file}`);
  if (first === undefined) return null;
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
  return `${first} was changed during the run${others}`;
};

/** Returns null if git fails, for example because the repository is gone. */
const readSettings = async (tree: WorkTree): Promise<Settings | null> => {
  const { root, gitDir } = tree;
  const { code, stdout } = await runGit(['config', '--list', '-z', '--show-origin'], { cwd: root });
  if (code !== 0) return null;
  const found = new Map<string, { value: string; file: string }>();
  const [shared, config] = [join(gitDir, 'commondir'), join(gitDir, 'config')];
  const files = new Set([...configFiles(tree), join(gitDir, 'HEAD'), shared, config]);
  // Decides where git looks for settings. A worktree that is being removed has neither.
  const value = readRegular(shared)?.toString() ?? (existsSync(config) ? '.' : null);
  if (value !== null) found.set('the shared git folder', { value, file: shared });
  const settings = parseSettings(root, stdout);
  for (const file of [...settings.map((setting) => setting.file), ...includesIn(settings)]) files.add(file);
  for (const { key, value, named } of settings) if (decisive.test(key)) found.set(key, { value, file: named });
  return { decisive: found, files: [...files] };
};

const stampsOf = (files: readonly string[]): string => files.map(safeFingerprint).join('\n');
