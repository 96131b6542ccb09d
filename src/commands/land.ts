import { userError } from '../errors.ts';
import { changeOf, resolveChange } from '../changes/sources.ts';
import { blockedOr } from '../git/call/blocked.ts';
import { limitGit, whyUnresponsive } from '../git/call/deadline.ts';
import { gitDirOf } from '../git/work-tree.ts';
import { land } from '../land/land.ts';
import type { LandRequest } from '../land/landing.ts';
import { trustLanding } from '../land/settings.ts';
import { withProcessScope } from '../process/scope.ts';
import { exitCodeOf, onStopSignals, type StopSignals } from '../process/signals.ts';
import type { ChangeRef } from '../store/change-ref.ts';
import { findProject } from '../store/project.ts';
import { readState } from '../store/state.ts';
import { checkRepository } from '../run/workspace/repository.ts';
import { lockChange } from '../store/run-lock.ts';
import { commandLine } from '../text/shell-words.ts';
import { parseFlags } from '../config/resolve.ts';
import { redactedTerminal } from '../report/redacted.ts';
import type { Invocation } from './registry/command.ts';
import { queueOf } from './with-queue/queue-url.ts';
import { confirmOn, consentOn } from './user/consent.ts';

/** How long a running git command may take to finish when the user stops the landing. */
const landGraceMs = 5000;

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, cwd, env, terminal } = invocation;
  const project = findProject(cwd);
  const change = await resolveChange(project, args[0]!);
  const ref: ChangeRef = { project, change, env };
  const queued = await fetchQueued(invocation, ref);
  const trusted = await trustedTarget(invocation, ref);
  await checkRepository(ref);
  const folder = await gitDirOf(project.root);
  if (folder === null) throw userError('no-git', project.root, 'it is not a git repository');
  const lock = lockChange(project, change, { treeFolder: folder, command: 'land' });
  const redacted = redactedTerminal(terminal, env);
  const since = new Date();
  try {
    return await stoppably(change, async (stopSignals) => {
      const outcome = await landInScope({ ...requestOf(invocation, ref, trusted), stopSignals, say: redacted.say });
      const onRemote = await queued?.conclude(since);
      redacted.answer(onRemote ? `${outcome} ${onRemote}` : outcome);
      return 0;
    });
  } finally {
    lock.release();
  }
};

/** Fetches a change that workers have completed. Returns null if there is nothing to fetch. */
const fetchQueued = async (invocation: Invocation, ref: ChangeRef) => {
  const { rawFlags, terminal } = invocation;
  const queue = await queueOf(invocation, ref.project);
  if (queue === null) return null;
  const { fetchCompleted, concludeLanding } = await import('./with-queue/queued-land.ts');
  const fetched = await fetchCompleted(queue, ref, { force: Boolean(rawFlags.force), terminal });
  if (fetched === null || rawFlags.dryRun) return null;
  return {
    /** Called after the landing, which began at `since`. */
    conclude: (since: Date) => concludeLanding(fetched, ref, { since, keepBranch: Boolean(rawFlags.keepBranch) }),
  };
};

type TrustedTarget = Pick<LandRequest, 'target' | 'settings'>;

const trustedTarget = async (
  { rawFlags, cwd, terminal }: Invocation,
  { project, change, env }: ChangeRef,
): Promise<TrustedTarget> => {
  const target = await changeOf(project, change, (await readState(project, change))?.source ?? null);
  const settings = await trustLanding({
    project,
    target,
    flagValues: parseFlags(rawFlags),
    env,
    cwd,
    force: Boolean(rawFlags.force),
    consentFor: ({ interactive }) => consentOn(terminal, interactive),
  });
  return { target, settings };
};

const requestOf = (
  { rawFlags: { onto, force, keepBranch, dryRun }, cwd, terminal }: Invocation,
  ref: ChangeRef,
  trusted: TrustedTarget,
): Omit<LandRequest, 'stopSignals' | 'say'> => ({
  ...ref,
  ...trusted,
  cwd,
  onto: (onto as string | undefined) ?? null,
  force: Boolean(force),
  keepBranch: Boolean(keepBranch),
  dryRun: Boolean(dryRun),
  confirm: confirmOn(terminal),
});

const landInScope = (request: LandRequest): Promise<string> => {
  const { env, cwd, settings } = request;
  return withProcessScope({ env, cwd, passLists: settings.passLists, ownsProcess: true }, () => land(request));
};

/** Calls `work`, which the user can stop with a signal. */
const stoppably = async <Result>(
  change: string,
  work: (stopSignals: StopSignals) => Promise<Result>,
): Promise<Result> => {
  const stopSignals = onStopSignals(() => {});
  const release = limitGit({ ...stopSignals, graceMs: () => landGraceMs });
  try {
    return await work(stopSignals);
  } catch (error) {
    const signal = stopSignals.received();
    // Git was stopped, so the error it caused is not the reason.
    if (signal === null || whyUnresponsive() === null) throw blockedOr(error);
    const again = commandLine('spool', 'land', change);
    throw userError('interrupted', exitCodeOf(signal), `git did not respond. Run "${again}" to finish`);
  } finally {
    release();
    stopSignals.dispose();
  }
};
