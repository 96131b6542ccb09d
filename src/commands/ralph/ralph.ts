import { relative } from 'node:path';
import { parseFlags, type Resolved, resolveOptions } from '../../config/resolve.ts';
import { userError } from '../../errors.ts';
import { type FlagName, flagOf, type Options } from '../../config/flags.ts';
import type { Harness } from '../../harness/harness.ts';
import { finishArchive } from '../../changes/archive/finish.ts';
import { listArchived, listChanges } from '../../changes/sources.ts';
import { findProjectIfAny, ownerOf, type Project } from '../../store/project.ts';
import { answer, say } from '../../report/message.ts';
import type { Invocation } from '../registry/command.ts';
import { queueOf } from '../with-queue/queue-url.ts';
import { showRun, showRuns } from '../runs/show-status.ts';
import { readArguments, readPrompt } from './arguments.ts';
import { chooseTargets, skipDamaged, type Targets } from './target.ts';
import { configFile } from '../../store/paths.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  const request = await readRequest(invocation);
  const { project, options, action, prompt } = request;
  if (action === 'status' && options.change.length === 0 && options.module === null && !options.all)
    return showStatus(request, 'all');
  const sentence = action === 'run' && isText(prompt) ? prompt : null;
  const targets = await chooseTargets(project, { options, ...invocation, sentence });
  if (targets.kind === 'new') {
    if (sentence === null) throw userError('prompt-required');
    return runNewChange(request, targets.module);
  }
  switch (action) {
    case 'status':
      return showStatus(request, targets.ids);
    case 'addContext':
    case 'clearContext':
      return changeContext(request, targets.ids);
    case 'run':
      return runChanges(request, targets);
  }
};

interface RalphRequest {
  readonly invocation: Invocation;
  readonly project: Project;
  readonly resolved: Resolved;
  /** With the change that the first argument names. */
  readonly options: Options;
  readonly action: ReturnType<typeof actionOf>;
  /** Empty if there is none. */
  readonly prompt: string;
}

/** Reads everything that was typed, and checks it as far as that is possible before the changes are known. */
const readRequest = async (invocation: Invocation): Promise<RalphRequest> => {
  const flagValues = parseFlags(invocation.rawFlags);
  const found = findProjectIfAny(invocation.cwd);
  const existing = found && ownerOf(found);
  const finished = existing && (await finishArchive(existing, invocation.env));
  if (finished) say(invocation.terminal, finished);
  const { change, prompt: typed } = await readArguments(invocation, existing);
  const project = existing ?? (await newProject(invocation, change === null && isText(typed)));
  const resolved = await resolveOptions({ flagValues, env: invocation.env, project });
  const options = change === null ? resolved.options : { ...resolved.options, change: [change], module: null };
  const action = actionOf(options, typed, invocation.rawFlags);
  const prompt = await readPrompt(typed, options, invocation.cwd);
  // Before the user is asked for a change. A change may have other agents, which are checked when it is known.
  if (action === 'run' || resolved.explicit.has('harness')) await checkHarnesses([options], resolved.customHarnesses);
  return { invocation, project, resolved, options, action, prompt };
};

const showStatus = async (
  { invocation, project, options }: RalphRequest,
  changes: readonly string[] | 'all',
): Promise<number> => {
  const request = { invocation, project, json: options.json, all: false };
  if (changes === 'all') await showRuns(request);
  else for (const change of changes) await showRun(change, request, async () => ({ change }));
  return 0;
};

const changeContext = async (
  { invocation, project, options, action }: RalphRequest,
  changes: readonly string[],
): Promise<number> => {
  const { addToContext, clearAddedContext } = await import('../runs/context.ts');
  const { env, terminal } = invocation;
  const queue = await queueOf(invocation, project);
  for (const change of changes) {
    const ref = { project, change, env };
    const text = action === 'addContext' ? options.addContext! : null;
    const sent = queue && (await (await import('../with-queue/queued-context.ts')).sendContext(queue, ref, text));
    const outcome =
      sent ??
      (text === null
        ? await clearAddedContext(ref)
        : `Added to the context of ${change}. ${await addToContext(ref, text)}`);
    answer(terminal, outcome);
  }
  return 0;
};

/** Creates a change from the prompt and runs it. */
const runNewChange = async (request: RalphRequest, module: string | null): Promise<number> => {
  const { invocation, project, resolved, options, prompt } = request;
  await checkChangeKeys(project, resolved.changeKeys);
  const findHarness = await checkHarnesses([options], resolved.customHarnesses);
  if (options.detach) {
    const { startDetached } = await import('./detach.ts');
    return startDetached({ invocation, project, changes: [], module, prompt, options });
  }
  const { startNewChange } = await import('./new-change.ts');
  return startNewChange({ ...resolved, project, findHarness, options, prompt, invocation }, module);
};

/** Runs the changes. Of those that were not chosen by name, damaged ones are skipped, and named before and after. */
const runChanges = async (request: RalphRequest, targets: Extract<Targets, { kind: 'changes' }>): Promise<number> => {
  const { invocation, project, options } = request;
  const { ids } = targets;
  const from = targets.from ?? null;
  const isNamed = from !== null || options.change.length > 0;
  const { ids: changes, skipped } = isNamed ? { ids, skipped: [] } : await skipDamaged(project, ids);
  const saySkipped = () => skipped.forEach((line) => say(invocation.terminal, line));
  saySkipped();
  const code = await startChanges(request, changes, from);
  if (changes.length === ids.length || options.detach) return code;
  // The first time may have been hours ago.
  saySkipped();
  const { withSkipped } = await import('../runs/run-exit-code.ts');
  return withSkipped(code);
};

/** `from` is the source of the only change, if it may have no run yet. */
const startChanges = async (
  { invocation, project, resolved, options, prompt }: RalphRequest,
  changes: readonly string[],
  from: string | null,
): Promise<number> => {
  await checkChangeKeys(project, resolved.changeKeys);
  const findHarness = await checkHarnesses(changes.map(resolved.forChange), resolved.customHarnesses);
  const canAsk = invocation.terminal.canPrompt && options.interactive && !options.json;
  if (from === null && canAsk && !options.resume && !isText(prompt)) {
    const { editTemplates } = await import('./edit-templates.ts');
    await editTemplates(invocation, project, changes);
  }
  if (options.detach) {
    const { startDetached } = await import('./detach.ts');
    return startDetached({ invocation, project, changes, prompt, options });
  }
  const { startRuns } = await import('./start.ts');
  return startRuns({ ...resolved, project, findHarness, changes, from, options, prompt, invocation });
};

const isText = (text: string): boolean => text.trim() !== '';

/** Returns where a project is created for a prompt or a task file. Throws for any other invocation. */
const newProject = async ({ rawFlags, cwd, env }: Invocation, hasPrompt: boolean): Promise<Project> => {
  const needsProject = ['change', 'module', 'all', 'resume', ...otherActions].some((name) => rawFlags[name]);
  if (needsProject || !(hasPrompt || rawFlags.promptFile || rawFlags.file)) throw userError('no-project', cwd);
  const { newProjectAt } = await import('./new-change.ts');
  return newProjectAt(cwd, env);
};

/**
 * Throws if a harness does not exist. Returns a lookup by name. The registry is imported here: most actions need none.
 */
const checkHarnesses = async (
  all: readonly Options[],
  custom: readonly Harness[],
): Promise<(name: string) => Harness> => {
  const [registry, { agentsOf }] = await Promise.all([
    import('../../harness/registry.ts'),
    import('../../config/agents.ts'),
  ]);
  const findHarness = (name: string) => registry.findHarness(name, custom);
  for (const { harness } of all.flatMap(agentsOf)) findHarness(harness);
  return findHarness;
};

/** Throws if the config file has settings for a change that does not exist. */
const checkChangeKeys = async (project: Project, keys: readonly string[]): Promise<void> => {
  if (keys.length === 0) return;
  const ids = [...(await listChanges(project)), ...(await listArchived(project))];
  const lost = keys.find((prefix) => prefix === '' || !ids.some((id) => id.startsWith(prefix)));
  if (lost !== undefined)
    throw userError(
      'bad-config',
      relative(project.root, configFile(project)),
      `"changes.${lost}" is not a change. Available: ${ids.join(', ')}`,
    );
};

const otherActions = ['status', 'addContext', 'clearContext'] as const;

/** Flags that contradict each other. */
const contradictions: readonly (readonly [FlagName, readonly FlagName[]])[] = [
  ['new', ['change', 'all', 'resume', ...otherActions]],
  ['file', ['change', 'source', 'module', 'all', 'new']],
  ['resume', ['fresh', 'all', ...otherActions]],
];

const actionOf = (options: Options, prompt: string, rawFlags: Invocation['rawFlags']) => {
  const asked = otherActions.filter((name) => options[name]);
  const [first, second] = asked;
  if (first && second) throw userError('two-actions', flagOf(first), flagOf(second));
  if (first && options.detach) throw userError('two-actions', flagOf(first), flagOf('detach'));
  for (const [flag, others] of contradictions) {
    const other = rawFlags[flag] === undefined ? undefined : others.find((name) => rawFlags[name] !== undefined);
    if (other) throw userError('two-actions', flagOf(flag), flagOf(other));
  }
  if (isText(prompt) && options.promptFile !== null) throw userError('two-prompts');
  if (first && isText(prompt)) throw userError('two-actions', flagOf(first), 'a prompt');
  return first ?? 'run';
};
