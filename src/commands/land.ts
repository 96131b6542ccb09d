import { userError } from '../errors.ts';
import { changeOf, resolveChange } from '../changes/sources.ts';
import { blockedOr } from '../git/call/blocked.ts';
import { limitGit, whyUnresponsive } from '../git/call/deadline.ts';
import { gitDirOf } from '../git/work-tree.ts';
import { land } from '../land/land.ts';
import type { LandRequest } from '../land/landing.ts';
import { trustLanding } from '../land/settings.ts';
import { withProcessScope } from '../process/scope.ts';
import { exitCodeOf, onStopSignals } from '../process/signals.ts';
import { findProject } from '../store/project.ts';
import { readState } from '../store/state.ts';
import { checkRepository } from '../run/workspace/repository.ts';
import { lockChange } from '../store/run-lock.ts';
import { commandLine } from '../text/shell-words.ts';
import { parseFlags } from '../config/resolve.ts';
import { redactedTerminal } from '../report/redacted.ts';
import type { Invocation } from './shared/command.ts';
import { queueOf } from './shared/queue-url.ts';
import { confirmOn, consentOn } from './shared/consent.ts';

/** How long a running git command may take to finish when the user stops the landing. */
const landGraceMs = 5000;

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, env, terminal } = invocation;
  const project = findProject(cwd);
  const change = await resolveChange(project, args[0]!);
  const { onto, force, keepBranch, dryRun } = rawFlags;
  const queue = await queueOf(invocation, project);
  const ref = { project, change, env };
  const queued = queue === null ? null : await import('./shared/queued-land.ts');
  const fetched = queued && (await queued.fetchCompleted(queue!, ref, { force: Boolean(force), terminal }));
  const target = await changeOf(project, change, (await readState(project, change))?.source ?? null);
  const settings = await trustLanding({
    project,
    target,
    flagValues: parseFlags(rawFlags),
    env,
    cwd,
    force: Boolean(force),
    consentFor: ({ interactive }) => consentOn(terminal, interactive),
  });
  await checkRepository({ project, change, env });
  const folder = await gitDirOf(project.root);
  if (folder === null) throw userError('no-git', project.root, 'it is not a git repository');
  const lock = lockChange(project, change, { treeFolder: folder, command: 'land' });
  const stopSignals = onStopSignals(() => {});
  const redacted = redactedTerminal(terminal, env);
  const since = new Date();
  const release = limitGit({ ...stopSignals, graceMs: () => landGraceMs });
  try {
    const request: LandRequest = {
      project,
      change,
      target,
      settings,
      stopSignals,
      env,
      cwd,
      onto: (onto as string | undefined) ?? null,
      force: Boolean(force),
      keepBranch: Boolean(keepBranch),
      dryRun: Boolean(dryRun),
      say: (line) => redacted.say(line),
      confirm: confirmOn(terminal),
    };
    const { passLists } = settings;
    const outcome = await withProcessScope({ env, passLists, ownsProcess: true }, () => land(request));
    const onRemote =
      fetched && !dryRun && (await queued!.concludeLanding(fetched, ref, { since, keepBranch: Boolean(keepBranch) }));
    redacted.answer(!onRemote ? outcome : `${outcome} ${onRemote}`);
    return 0;
  } catch (error) {
    const signal = stopSignals.received();
    // Git was stopped, so the error it caused is not the reason.
    if (signal === null || whyUnresponsive() === null) throw blockedOr(error);
    const again = commandLine('spool', 'land', change);
    throw userError('interrupted', exitCodeOf(signal), `git did not respond. Run "${again}" to finish`);
  } finally {
    release();
    stopSignals.dispose();
    lock.release();
  }
};
