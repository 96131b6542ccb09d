import { resolve } from 'node:path';
import { issueOf } from '../changes/issue-link.ts';
import { changeOf, resolveAnyChange, resolveChange } from '../changes/sources.ts';
import { summaryOf } from '../changes/summary.ts';
import type { Change } from '../changes/source.ts';
import { userError } from '../errors.ts';
import { configuredUrl } from '../git/remote.ts';
import { exitCodeOf, onStopSignals } from '../process/signals.ts';
import { githubAddress } from '../publish/github-address.ts';
import { publish } from '../publish/publish.ts';
import { pullRequestBody, pullRequestTitle } from '../report/proof/pull-request.ts';
import { readProof } from '../report/proof/read.ts';
import type { SentRun } from '../report/proof/report.ts';
import type { RunView } from '../ralph/view.ts';
import { redactedTerminal } from '../report/redacted.ts';
import { checkRepository } from '../run/workspace/repository.ts';
import { createRedactor } from '../secrets/redact.ts';
import type { ChangeRef } from '../store/change-ref.ts';
import { findProject, type Project } from '../store/project.ts';
import { lockChange } from '../store/run-lock.ts';
import { readState } from '../store/state.ts';
import { withoutControls } from '../text/controls.ts';
import type { Invocation } from './registry/command.ts';
import { confirmOn } from './user/consent.ts';
import { queueOf } from './with-queue/queue-url.ts';
import { findSentRun } from './with-queue/sent-run.ts';
import { refuseAgents } from './user/refuse-agents.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, env, terminal } = invocation;
  refuseAgents('publish');
  const project = findProject(cwd);
  if (rawFlags.print) {
    const away = await findSentRun(invocation, project);
    const ref = { project, change: away?.change ?? (await resolveAnyChange(project, args[0]!)), env };
    const { render } = await readPullRequest(ref, await targetOf(ref, away?.sent.view), {
      repository: null,
      sent: away?.sent ?? null,
    });
    terminal.print(render());
    return 0;
  }
  const ref = { project, change: await resolveChange(project, args[0]!), env };
  const { change } = ref;
  await checkRepository(ref);
  const queue = await queueOf(invocation, project);
  if (queue !== null) {
    const { fetchCompleted } = await import('./with-queue/queued-land.ts');
    await fetchCompleted(queue, ref, { force: Boolean(rawFlags.force), terminal });
  }
  const remoteName = (rawFlags.remote as string | undefined) ?? 'origin';
  const url = await remoteUrl(project, remoteName);
  const target = await targetOf(ref);
  const lock = lockChange(project, change, { treeFolder: null, command: 'publish' });
  const stopSignals = onStopSignals(() => {});
  const redacted = redactedTerminal(terminal, env);
  try {
    const { title, render } = await readPullRequest(ref, target, { repository: githubAddress(url), sent: null });
    const outcome = await publish({
      ...ref,
      target,
      remoteName,
      url,
      base: (rawFlags.base as string | undefined) ?? null,
      force: Boolean(rawFlags.force),
      ready: Boolean(rawFlags.ready),
      title,
      body: render,
      stop: stopSignals.stop,
      say: redacted.say,
      confirm: confirmOn(terminal),
    });
    redacted.answer(outcome);
    return 0;
  } catch (error) {
    const signal = stopSignals.received();
    if (signal === null) throw error;
    throw userError('interrupted', exitCodeOf(signal), `run "spool publish ${change}" again to finish`);
  } finally {
    stopSignals.dispose();
    lock.release();
  }
};

const targetOf = async ({ project, change }: ChangeRef, sent: RunView | null = null): Promise<Change> =>
  changeOf(project, change, (sent ?? (await readState(project, change)))?.source ?? null);

/** Everything that the pull request says, without secrets and control characters. */
const readPullRequest = async (
  ref: ChangeRef,
  target: Change,
  { repository, sent }: { readonly repository: string | null; readonly sent: SentRun | null },
): Promise<{ readonly title: string; readonly render: (maxLength?: number) => string }> => {
  const { root } = ref.project;
  const found = { report: await readProof(ref, sent), summary: summaryOf(target, root) };
  const { report, summary } = createRedactor(ref.env).after(withoutControls).data(found);
  const facts = { summary, issue: issueOf(target, root), repository };
  return { title: pullRequestTitle(report), render: (maxLength) => pullRequestBody(report, facts, maxLength) };
};

const remoteUrl = async ({ root }: Project, name: string): Promise<string> => {
  const url = await configuredUrl(root, name);
  if (url === null) throw userError('no-remote', name);
  // git takes a path as relative to the repository.
  return /^\.{1,2}(?:\/|$)/.test(url) ? resolve(root, url) : url;
};
