import { userError } from '../errors.ts';
import { resolveChange } from '../changes/changes.ts';
import { blockedOr } from '../git/blocked.ts';
import { hurryGit, whyGivenUp } from '../git/hurry.ts';
import { gitFolderOf } from '../git/worktree.ts';
import { land } from '../land/land.ts';
import { trustLanding } from '../land/settings.ts';
import { exitCodeOf, listenForStops } from '../process/signals.ts';
import { findProject } from '../store/project.ts';
import { lockChange } from '../store/run-lock.ts';
import { commandLine } from '../text/shell-words.ts';
import type { TypedFlags } from '../config/resolve.ts';
import type { Call } from './command.ts';
import { confirmOn, consentOn } from './consent.ts';

/** How long git may take for what it does when the landing is asked to stop. */
const landGraceMs = 5000;

export const run = async ({ argument, typed, cwd, env, terminal }: Call): Promise<number> => {
  const project = findProject(cwd);
  const change = await resolveChange(project, argument!);
  const { onto, force, keepBranch, ...flags } = typed;
  const settings = await trustLanding({
    project,
    change,
    typed: flags as TypedFlags,
    env,
    cwd,
    consentFor: ({ interactive }) => consentOn(terminal, interactive),
  });
  const folder = await gitFolderOf(project.root);
  if (folder === null) throw userError('no-git', project.root, 'it is no git repository');
  const lock = lockChange(project, change, { treeFolder: folder });
  const stops = listenForStops(() => {});
  const release = hurryGit({ ...stops, graceMs: () => landGraceMs });
  try {
    const outcome = await land({
      project,
      change,
      settings,
      stops,
      env,
      cwd,
      onto: (onto as string | undefined) ?? null,
      force: Boolean(force),
      keepBranch: Boolean(keepBranch),
      say: (line) => terminal.say(`${line}\n`),
      confirm: confirmOn(terminal),
    });
    terminal.out(`${outcome}\n`);
    return 0;
  } catch (error) {
    const signal = stops.received();
    // A git that was ended answers nothing: what was made of that is not the reason.
    if (signal === null || whyGivenUp() === null) throw blockedOr(error);
    const again = commandLine('spool', 'land', change);
    throw userError('interrupted', exitCodeOf(signal), `git did not answer; finish it with "${again}"`);
  } finally {
    release();
    stops.dispose();
    lock.release();
  }
};
