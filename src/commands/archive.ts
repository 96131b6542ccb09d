import { userError } from '../errors.ts';
import {
  applyArchive,
  type ArchivePlan,
  type CapabilityMerge,
  planArchive,
  whileArchiving,
} from '../changes/archive/archive.ts';
import type { Change } from '../changes/source.ts';
import { isPresentInside } from '../files/inside.ts';
import { changeOf, resolveChange } from '../changes/sources.ts';
import { readTasks } from '../changes/tasks/read.ts';
import { countTasks } from '../changes/tasks/task.ts';
import { finishArchive } from '../changes/archive/finish.ts';
import { renderIssue } from '../report/issues.ts';
import { say } from '../report/message.ts';
import { overview } from '../report/read-change-rows.ts';
import { parseFlags, resolveOptions } from '../config/resolve.ts';
import { findProjectHere, type Project } from '../store/project.ts';
import { agentEdits } from './runs/agent-edits.ts';
import { lockChange } from '../store/run-lock.ts';
import { readState } from '../store/state.ts';
import { safeJson } from '../text/controls.ts';
import { commandLine } from '../text/shell-words.ts';
import { unifiedDiff } from '../text/unified-diff.ts';
import type { Invocation } from './registry/command.ts';

/** Locks the change while it is moved, so that no loop starts on it. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, env, terminal } = invocation;
  const project = findProjectHere(cwd);
  const finished = await finishArchive(project, env);
  if (finished !== null) say(terminal, finished);
  const id = await resolveChange(project, args[0]!);
  const change = await changeOf(project, id);
  if (rawFlags.dryRun) {
    showPlan(planFor(project, change, invocation), invocation);
    return 0;
  }
  const branch = await branchToLand(project, change, invocation);
  if (branch !== null) throw userError('not-landed', id, branch, commandLine('spool', 'land', id));
  const [edit] = await agentEdits(project, change, env);
  if (edit !== undefined) throw userError('unaccepted-goal', id, edit);
  const { done, total } = countTasks(readTasks(change, project.root) ?? []);
  if (done < total && !rawFlags.force) throw userError('open-tasks', id, total - done, total);
  if (!rawFlags.force) await checkProof(project, change, invocation);
  const lock = lockChange(project, id, { treeFolder: null, command: 'archive' });
  try {
    const announce = { env, say: (line: string) => say(terminal, line) };
    const plan = await whileArchiving(project, announce, () => {
      if (!isPresentInside(project.root, change.folder)) throw userError('gone-change', id);
      const planned = planFor(project, change, invocation);
      applyArchive(project, env, planned);
      return planned;
    });
    showResult(plan, invocation);
    return 0;
  } finally {
    lock.release();
  }
};

/** Throws if the scenarios must be proven and are not. */
const checkProof = async (project: Project, change: Change, { rawFlags, env, terminal }: Invocation): Promise<void> => {
  const { forChange } = await resolveOptions({ flagValues: parseFlags(rawFlags), env, project });
  if (!forChange(change.id).requireScenarios) return;
  const { provenElsewhere, whyUnproven } = await import('../proof/why-unproven.ts');
  const why = whyUnproven(project, change, env);
  const advice = `See: ${commandLine('spool', 'proof', change.id)}. Archive it anyway with --force.`;
  if (why !== null) throw userError('unproven-scenarios', change.id, why, advice);
  const elsewhere = provenElsewhere({ project, change: change.id, env });
  if (elsewhere !== null) say(terminal, elsewhere);
};

/** The branch of the change if it has work that has not landed, and would be forgotten. */
const branchToLand = async (project: Project, change: Change, { env }: Invocation): Promise<string | null> => {
  const { lastRun } = await overview(project, change, { env });
  return lastRun?.landed === false ? ((await readState(project, change.id))?.workspace?.branch ?? null) : null;
};

/** Throws if the specs cannot be merged, and prints why. */
const planFor = (project: Project, change: Change, { rawFlags, terminal }: Invocation): ArchivePlan => {
  const plan = planArchive(project, change, { mergeSpecs: rawFlags.specs !== false });
  const issues = 'errors' in plan ? plan.errors : plan.warnings;
  for (const issue of issues) say(terminal, renderIssue(issue));
  if ('errors' in plan) throw userError('bad-specs', change.id, plan.errors.length);
  return plan;
};

const showResult = (plan: ArchivePlan, { rawFlags, terminal }: Invocation): void => {
  if (rawFlags.json) return terminal.printResult(`${safeJson(jsonOf(plan), 2)}\n`);
  terminal.print(`Archived ${plan.change.id} as ${plan.to}\n`);
  for (const merge of plan.merges) terminal.print(`  ${mergeText(merge)}\n`);
};

const showPlan = (plan: ArchivePlan, { rawFlags, terminal }: Invocation): void => {
  if (rawFlags.json) return terminal.printResult(`${safeJson(jsonOf(plan), 2)}\n`);
  const diffs = plan.merges
    .map(({ path, before, after }) => unifiedDiff(path, before, after))
    .filter((diff) => diff !== '');
  if (diffs.length > 0) terminal.printResult(diffs.join(''));
  terminal.log(`Would archive ${plan.change.id} as ${plan.to}\n`);
  for (const merge of plan.merges) terminal.log(`  ${mergeText(merge)}\n`);
};

/** `auth: 1 added, 1 modified` */
const mergeText = ({ capability, kind, counts, path, before }: CapabilityMerge): string => {
  if (kind === 'unchanged') return `${capability}: already up to date`;
  const shown = Object.entries(counts).filter(([, count]) => count > 0);
  const text = shown.map(([name, count]) => `${count} ${name}`).join(', ');
  const note = kind === 'deleted' ? ` (deleted ${path})` : before === null ? ` (new ${path})` : '';
  return `${capability}: ${text}${note}`;
};

const jsonOf = ({ change, to, merges, warnings }: ArchivePlan) => ({
  change: change.id,
  archivedAs: to,
  specs: merges.map(({ capability, path, kind, counts }) => ({ capability, path, result: kind, ...counts })),
  warnings,
});
