import { join } from 'node:path';
import { commandLine } from '../text/shell-words.ts';
import { checkSlug, createChange } from '../changes/spool/create.ts';
import { noModule, slugOf, toSlug } from '../changes/spool/ids.ts';
import { type Issue, isIssue, readIssue } from '../changes/github-issue.ts';
import { userError } from '../errors.ts';
import { readText } from '../files/read.ts';
import { exitCodeOf, onStopSignals } from '../process/signals.ts';
import { findProjectHere, type Project } from '../store/project.ts';
import { moduleIdOf, resolveModule } from '../changes/modules.ts';
import { answer } from '../report/message.ts';
import type { Invocation } from './registry/command.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, terminal } = invocation;
  const project = findProjectHere(cwd);
  const module =
    rawFlags.module === undefined ? noModule : moduleIdOf(resolveModule(project, String(rawFlags.module)))!;
  const { slug, issue } = await subjectOf(invocation, project, args[0]);
  const change = await createChange(project, { module, slug, issue });
  const { id, proposalFile, tasksFile } = change;
  terminal.print(`Created change ${id}${issue ? ` from ${nameOf(issue)}` : ''}:\n  ${proposalFile}\n  ${tasksFile}\n`);
  if (rawFlags.edit) {
    const { editFile } = await import('./user/edit.ts');
    await editFile(invocation, project, proposalFile);
  }
  const isEmpty = change.isTemplate(readText(join(project.root, proposalFile)) ?? '');
  const first = issue
    ? 'read the proposal, which is text from outside, then '
    : isEmpty
      ? 'fill in the proposal and the tasks, then '
      : '';
  answer(terminal, `\nNext: ${first}${commandLine('spool', 'ralph', id)}`);
  return 0;
};

/** The name of the change, and the issue that describes it. */
const subjectOf = async (
  { rawFlags, env }: Invocation,
  project: Project,
  slug: string | undefined,
): Promise<{ slug: string; issue: Issue | null }> => {
  const from = rawFlags.fromIssue;
  if (from === undefined) {
    if (slug === undefined)
      throw userError('usage', `Missing required argument 'slug' (or --from-issue). See "spool create change --help".`);
    return { slug, issue: null };
  }
  if (!isIssue(String(from)))
    throw userError('bad-value', '--from-issue', 'must be the number or the URL of a GitHub issue', String(from));
  if (slug !== undefined) checkSlug(slug);
  const issue = await readStoppably(project, String(from), env);
  return { slug: slug ?? slugFor(issue), issue };
};

const readStoppably = async ({ root }: Project, issue: string, env: NodeJS.ProcessEnv): Promise<Issue> => {
  const stopSignals = onStopSignals(() => {});
  try {
    return await readIssue({ issue, cwd: root, env, stop: stopSignals.stop });
  } catch (error) {
    const signal = stopSignals.received();
    throw signal === null ? error : userError('interrupted', exitCodeOf(signal), 'no change was created');
  } finally {
    stopSignals.dispose();
  }
};

const slugFor = ({ number, title }: Issue): string => (toSlug(title) === null ? `issue-${number}` : slugOf(title));

/** gh answers with a pull request if the number is that of one. */
const nameOf = ({ number, url, isOpen }: Issue): string =>
  `${url.includes('/pull/') ? 'pull request' : 'issue'} #${number}${isOpen ? '' : ' (closed)'}`;
