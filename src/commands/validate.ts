import { userError } from '../errors.ts';
import { activeChanges, listChanges, mainSpecFolders, resolveChange, sourceProblems } from '../changes/sources.ts';
import { finishArchive } from '../changes/archive/finish.ts';
import { type Issue, validateListed, validateMainSpecs } from '../changes/validate.ts';
import { canvasOf } from '../report/canvas.ts';
import { countIssues, renderIssues } from '../report/issues.ts';
import { say } from '../report/message.ts';
import { findProject, type Project } from '../store/project.ts';
import { safeJson } from '../text/controls.ts';
import { pluralise } from '../text/format.ts';
import type { Invocation } from './registry/command.ts';

/** The exit code if something must be fixed. */
const invalid = 1;

export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, cwd, env, terminal } = invocation;
  const project = findProject(cwd);
  const finished = await finishArchive(project, env);
  if (finished !== null) say(terminal, finished);
  const ids = await chosenChanges(project, invocation);
  const results = await validateChanges(project, ids);
  const specs = ids === null ? validateMainSpecs(await mainSpecFolders(project), project.root) : [];
  if (ids === null) for (const problem of await sourceProblems(project)) say(terminal, problem);
  const issues = [...results.flatMap((each) => each.issues), ...specs];
  const failing = issues.filter(({ level }) => level === 'error' || (level === 'warning' && rawFlags.strict === true));
  if (rawFlags.json) terminal.printResult(`${safeJson({ valid: failing.length === 0, changes: results, specs }, 2)}\n`);
  else show(issues, { checked: checkedText(results, ids === null), invocation });
  return failing.length === 0 ? 0 : invalid;
};

interface Validated {
  readonly change: string;
  readonly issues: readonly Issue[];
}

/** A change that cannot be read is an error among the others. `ids` is null for all changes. */
const validateChanges = async (project: Project, ids: readonly string[] | null): Promise<Validated[]> =>
  (await activeChanges(project))
    .filter(({ id }) => ids === null || ids.includes(id))
    .map((listed) => ({ change: listed.id, issues: validateListed(listed, project.root) }));

/** The ids of the changes that the user chose; null for all of them. */
const chosenChanges = async (
  project: Project,
  { args, rawFlags, env, terminal }: Invocation,
): Promise<string[] | null> => {
  const [query] = args;
  if (query !== undefined && rawFlags.all) throw userError('two-actions', '--all', 'a change');
  if (query !== undefined) return [await resolveChange(project, query)];
  const isAsked = !rawFlags.all && !rawFlags.json && terminal.canPrompt && (await listChanges(project)).length > 1;
  if (!isAsked) return null;
  const { pick } = await import('./user/pick.ts');
  const picked = await pick(project, { sentence: null, columns: terminal.columns, allowRunning: true, env });
  return picked.kind === 'changes' ? [...picked.ids] : null;
};

const show = (
  issues: readonly Issue[],
  { checked, invocation }: { readonly checked: string; readonly invocation: Invocation },
): void => {
  const { terminal } = invocation;
  if (issues.length > 0) terminal.printResult(`${renderIssues(issues, canvasOf(terminal)).join('\n')}\n\n`);
  terminal.printResult(`${checked}: ${countIssues(issues)}\n`);
};

const checkedText = (results: readonly { readonly change: string }[], withMain: boolean): string => {
  const changes = results.length === 1 && !withMain ? results[0]!.change : pluralise(results.length, 'change');
  return withMain ? `${changes} and the main specs` : changes;
};
