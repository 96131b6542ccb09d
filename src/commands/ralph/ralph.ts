import { safeJson } from '../../text/controls.ts';
import { commandLine } from '../../text/shell-words.ts';
import { relative } from 'node:path';
import { checkRawFlags, resolveOptions, type RawFlags } from '../../config/resolve.ts';
import { userError } from '../../errors.ts';
import { flagOf, type Options } from '../../config/flags.ts';
import type { Harness } from '../../harness/harness.ts';
import { listArchived, listChanges } from '../../changes/changes.ts';
import { configFile, findProject, type Project } from '../../store/project.ts';
import { lastRecords } from '../../store/history.ts';
import { loopOwner, readRun } from '../../store/state.ts';
import { currentStatus, type RunView } from '../../ralph/view.ts';
import { renderStatus } from '../../report/status.ts';
import type { Invocation } from '../command.ts';
import { chooseTargets } from './target.ts';

/** How many iterations `--status` shows. */
const shown = 10;

export const run = async (call: Invocation): Promise<number> => {
  checkRawFlags(call.rawFlags as RawFlags);
  const project = findProject(call.cwd);
  const { options, forChange, fileFor, changeKeys, customHarnesses, explicit, config, passLists } =
    await resolveOptions({
      typed: call.rawFlags as RawFlags,
      env: call.env,
      project,
    });
  const action = actionOf(options, call.argument);
  if (action === 'run' || explicit.has('harness')) await checkAgents([options], customHarnesses);
  const changes = await chooseTargets(project, options, call.terminal);
  switch (action) {
    case 'status':
      for (const change of changes) await showStatus(project, change, { ...call, json: options.json });
      return 0;
    case 'addContext': {
      await refuseAgents('ralph --add-context');
      const { addContext } = await import('../../store/context.ts');
      for (const change of changes) addContext({ project, change, env: call.env }, options.addContext!);
      call.terminal.print(`Added to the context of ${changes.join(', ')}; the next iteration will see it.\n`);
      return 0;
    }
    case 'clearContext': {
      await refuseAgents('ralph --clear-context');
      const { clearContext } = await import('../../store/context.ts');
      for (const change of changes) clearContext({ project, change, env: call.env });
      call.terminal.print(`Cleared the context of ${changes.join(', ')}.\n`);
      return 0;
    }
    case 'run': {
      await checkSettled(project, changeKeys);
      const find = await checkAgents(changes.map(forChange), customHarnesses);
      const { startRuns } = await import('./start.ts');
      return startRuns({
        project,
        explicit,
        fileFor,
        passLists,
        find,
        changes,
        config,
        options,
        invocation: call,
        optionsOf: forChange,
      });
    }
  }
};

const isOpen = ({ status }: RunView): boolean => status === 'running' || status === 'interrupted';

/** What has ended is compared with the record. That is loaded when it is needed, as it takes a moment. */
const confirmed = async (
  project: Project,
  change: string,
  { saved, terminal, env }: Pick<Invocation, 'terminal' | 'env'> & { saved: RunView },
): Promise<RunView> => {
  const { asRecorded, isKnown, recordFolder } = await import('../../store/record.ts');
  const folder = recordFolder(project, change, env);
  if (saved.status === 'complete' && !isKnown(folder, saved))
    terminal.log(`The last run of ${change} was not started here: only its state.json says that it is complete.\n`);
  const view = asRecorded(folder, saved);
  if (view !== saved)
    terminal.log(`state.json calls ${change} ${saved.status}, but Spool has not recorded that: it is not believed.\n`);
  return view;
};

/** The harness of a name; an error when one that is asked for is none. Loaded when an agent is meant: most actions need none. */
const checkAgents = async (all: readonly Options[], own: readonly Harness[]): Promise<(name: string) => Harness> => {
  const [{ findHarness }, { agentsOf }] = await Promise.all([
    import('../../harness/registry.ts'),
    import('../../run/plan.ts'),
  ]);
  const find = (name: string) => findHarness(name, own);
  for (const { harness } of all.flatMap(agentsOf)) find(harness);
  return find;
};

/** Settings under an id that is none would be lost without a word. */
const checkSettled = async (project: Project, settled: readonly string[]): Promise<void> => {
  if (settled.length === 0) return;
  const archived = (await listArchived(project)).map((name) => name.replace(/^\d{4}-\d\d-\d\d-/, ''));
  const ids = [...(await listChanges(project)), ...archived];
  const lost = settled.find((prefix) => prefix === '' || !ids.some((id) => id.startsWith(prefix)));
  if (lost !== undefined)
    throw userError(
      'bad-config',
      relative(project.root, configFile(project)),
      `"changes.${lost}" is no change. There are: ${ids.join(', ')}`,
    );
};

/** The context is what persons add; an agent that could add to it would speak for them. */
const refuseAgents = async (command: string): Promise<void> => {
  const { isInsideIteration } = await import('../../process/tree.ts');
  if (isInsideIteration()) throw userError('in-iteration', command);
};

const actionOf = (options: Options, prompt: string | undefined) => {
  const asked = (['status', 'addContext', 'clearContext'] as const).filter((name) => options[name]);
  const [first, second] = asked;
  if (first && second) throw userError('two-actions', flagOf(first), flagOf(second));
  if (prompt?.trim() && options.promptFile !== null) throw userError('two-prompts');
  if (first && prompt?.trim()) throw userError('two-actions', flagOf(first), 'a prompt');
  return first ?? 'run';
};

const showStatus = async (
  project: Project,
  change: string,
  { terminal, env, json }: Pick<Invocation, 'terminal' | 'env'> & { json: boolean },
): Promise<number> => {
  const { view: saved, damage } = await readRun(project, change);
  if (damage !== null) terminal.log(`${damage}\n`);
  const alive = loopOwner(project, change) !== null;
  const view = saved && !isOpen(saved) ? await confirmed(project, change, { saved, terminal, env }) : saved;
  const records = view && (await lastRecords(project, change, shown)).filter((record) => record.run === view.run);
  const status = view && currentStatus(view, alive);
  if (json) terminal.printResult(`${safeJson({ change, status, view, iterations: records ?? [] })}\n`);
  else if (view && records) terminal.printResult(`${renderStatus(view, records, alive).join('\n')}\n`);
  else
    terminal.printResult(
      `${change}: no run yet, 0 iterations. Start one with "${commandLine('spool', 'ralph', '--change', change)}".\n`,
    );
  return 0;
};
