import { relative } from 'node:path';
import { parseFlags, resolveOptions } from '../../config/resolve.ts';
import { userError } from '../../errors.ts';
import { type FlagName, flagOf, type Options } from '../../config/flags.ts';
import type { Harness } from '../../harness/harness.ts';
import { finishArchive } from '../../changes/archive/finish.ts';
import { listArchived, listChanges } from '../../changes/sources.ts';
import { findProjectIfAny, ownerOf, type Project } from '../../store/project.ts';
import { answer, say } from '../../report/message.ts';
import { printStatus } from '../../report/run-status.ts';
import type { Invocation } from '../shared/command.ts';
import { readArguments, readPrompt } from './arguments.ts';
import { chooseTargets, skipDamaged } from './target.ts';
import { configFile } from '../../store/paths.ts';

export const run = async (call: Invocation): Promise<number> => {
  const flagValues = parseFlags(call.rawFlags);
  const found = findProjectIfAny(call.cwd);
  const existing = found && ownerOf(found);
  const finished = existing && (await finishArchive(existing));
  if (finished) say(call.terminal, finished);
  const { change, prompt: typed } = await readArguments(call, existing);
  const project = existing ?? (await newProject(call, change === null && isText(typed)));
  const resolved = await resolveOptions({ flagValues, env: call.env, project });
  const { changeKeys, customHarnesses, explicit } = resolved;
  const options = change === null ? resolved.options : { ...resolved.options, change: [change], module: null };
  const action = actionOf(options, typed, call.rawFlags);
  const prompt = await readPrompt(typed, options, call.cwd);
  // Before the user is asked for a change. A change may have other agents, which are checked when it is known.
  if (action === 'run' || explicit.has('harness')) await checkAgents([options], customHarnesses);
  if (action === 'status' && options.change.length === 0 && options.module === null && !options.all) {
    const { printRuns } = await import('../../report/all-runs.ts');
    await printRuns({ project, ...call, json: options.json, all: false });
    return 0;
  }
  const sentence = action === 'run' && isText(prompt) ? prompt : null;
  const targets = await chooseTargets(project, { options, ...call, sentence });
  if (targets.kind === 'new') {
    if (sentence === null) throw userError('prompt-required');
    await checkChangeKeys(project, changeKeys);
    const find = await checkAgents([options], customHarnesses);
    if (options.detach) {
      const { startDetached } = await import('./detach.ts');
      return startDetached({ invocation: call, project, changes: [], module: targets.module, prompt, options });
    }
    const { startNewChange } = await import('./new-change.ts');
    return startNewChange({ ...resolved, project, find, options, prompt, invocation: call }, targets.module);
  }
  const { ids, from = null } = targets;
  const isNamed = from !== null || options.change.length > 0;
  const { ids: changes, skipped } =
    action === 'run' && !isNamed ? await skipDamaged(project, ids) : { ids, skipped: [] };
  const saySkipped = () => skipped.forEach((line) => say(call.terminal, line));
  saySkipped();
  switch (action) {
    case 'status':
      for (const change of changes) await printStatus(change, { project, ...call, json: options.json, all: false });
      return 0;
    case 'addContext': {
      const { addToContext } = await import('../shared/context.ts');
      for (const change of changes)
        answer(
          call.terminal,
          `Added to the context of ${change}. ${await addToContext({ project, change, env: call.env }, options.addContext!)}`,
        );
      return 0;
    }
    case 'clearContext': {
      const { emptyContext } = await import('../shared/context.ts');
      for (const change of changes) answer(call.terminal, await emptyContext({ project, change, env: call.env }));
      return 0;
    }
    case 'run': {
      await checkChangeKeys(project, changeKeys);
      const find = await checkAgents(changes.map(resolved.forChange), customHarnesses);
      if (
        from === null &&
        call.terminal.canPrompt &&
        options.interactive &&
        !options.json &&
        !options.resume &&
        !isText(prompt)
      ) {
        const { editTemplates } = await import('./edit-templates.ts');
        await editTemplates(call, project, changes);
      }
      if (options.detach) {
        const { startDetached } = await import('./detach.ts');
        return startDetached({ invocation: call, project, changes, prompt, options });
      }
      const { startRuns } = await import('./start.ts');
      const code = await startRuns({ ...resolved, project, find, changes, from, options, prompt, invocation: call });
      if (changes.length === ids.length) return code;
      // The first time may have been hours ago.
      saySkipped();
      const { withSkipped } = await import('../shared/run-exit-code.ts');
      return withSkipped(code);
    }
  }
};

const isText = (text: string): boolean => text.trim() !== '';

/** Returns where a project is created for a prompt or a task file. Throws for any other call. */
const newProject = async ({ rawFlags, cwd, env }: Invocation, hasPrompt: boolean): Promise<Project> => {
  const needsProject = ['change', 'module', 'all', 'resume', ...otherActions].some((name) => rawFlags[name]);
  if (needsProject || !(hasPrompt || rawFlags.promptFile || rawFlags.file)) throw userError('no-project', cwd);
  const { newProjectAt } = await import('./new-change.ts');
  return newProjectAt(cwd, env);
};

/** Throws if a harness does not exist. Returns a lookup by name. The registry is imported here: most actions need none. */
const checkAgents = async (all: readonly Options[], custom: readonly Harness[]): Promise<(name: string) => Harness> => {
  const [{ findHarness }, { agentsOf }] = await Promise.all([
    import('../../harness/registry.ts'),
    import('../../run/plan.ts'),
  ]);
  const find = (name: string) => findHarness(name, custom);
  for (const { harness } of all.flatMap(agentsOf)) find(harness);
  return find;
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
