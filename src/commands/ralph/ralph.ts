import { safeJson } from '../../text/controls.ts';
import { commandLine } from '../../text/shell-words.ts';
import { relative } from 'node:path';
import { parseFlags, resolveOptions } from '../../config/resolve.ts';
import { userError } from '../../errors.ts';
import { flagOf, type Options } from '../../config/flags.ts';
import type { Harness } from '../../harness/harness.ts';
import { listArchived, listChanges } from '../../changes/sources.ts';
import { findProject, type Project } from '../../store/project.ts';
import { cutHistory, lastRecords } from '../../store/history.ts';
import { loopOwner, readRun } from '../../store/state.ts';
import { currentStatus, type RunView } from '../../ralph/view.ts';
import { renderStatus } from '../../report/status.ts';
import type { Invocation } from '../command.ts';
import { chooseTargets } from './target.ts';
import { configFile } from '../../store/paths.ts';

/** How many iterations `--status` shows. */
const shownIterations = 10;

export const run = async (call: Invocation): Promise<number> => {
  const flagValues = parseFlags(call.rawFlags);
  const project = findProject(call.cwd);
  const { options, forChange, fileFor, changeKeys, customHarnesses, explicit, config, passLists } =
    await resolveOptions({ flagValues, env: call.env, project });
  const action = actionOf(options, call.args[0]);
  // Before the user is asked for a change. A change may have other agents, which are checked when it is known.
  if (action === 'run' || explicit.has('harness')) await checkAgents([options], customHarnesses);
  const changes = await chooseTargets(project, options, call.terminal);
  switch (action) {
    case 'status':
      for (const change of changes) await showStatus(project, change, { ...call, json: options.json });
      return 0;
    case 'addContext': {
      await refuseAgents('ralph --add-context');
      const { addContext } = await import('../../store/added-context.ts');
      for (const change of changes) addContext({ project, change, env: call.env }, options.addContext!);
      call.terminal.print(`Added to the context of ${changes.join(', ')}; the next iteration will see it.\n`);
      return 0;
    }
    case 'clearContext': {
      await refuseAgents('ralph --clear-context');
      const { clearContext } = await import('../../store/added-context.ts');
      for (const change of changes) clearContext({ project, change, env: call.env });
      call.terminal.print(`Cleared the context of ${changes.join(', ')}.\n`);
      return 0;
    }
    case 'run': {
      await checkChangeKeys(project, changeKeys);
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
        forChange,
      });
    }
  }
};

const isOpen = ({ status }: RunView): boolean => status === 'running' || status === 'interrupted';

/** Compares a finished run with the record in the user's folder. Imported only when needed, for a fast start. */
const confirmed = async (
  project: Project,
  change: string,
  { saved, terminal, env }: Pick<Invocation, 'terminal' | 'env'> & { saved: RunView },
): Promise<RunView> => {
  const { asRecorded, isKnown, userRecordFolder: recordFolder } = await import('../../store/user-record.ts');
  const folder = recordFolder(project, change, env);
  if (saved.status === 'complete' && !isKnown(folder, saved))
    terminal.log(`The last run of ${change} was not started here. Only its state.json says that it is complete.\n`);
  const view = asRecorded(folder, saved);
  if (view !== saved)
    terminal.log(
      `state.json says that ${change} is ${saved.status}, but Spool has no record of that and ignores it.\n`,
    );
  return view;
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

/** The context holds what people add. An agent must not be able to speak for them. */
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
  const history = view && lastRecords(project, change, shownIterations);
  if (history?.isCut && damage === null) terminal.log(`${cutHistory(project, change)}\n`);
  const records = history && history.records.filter((record) => record.run === view.run);
  const status = view && currentStatus(view, alive);
  if (json) terminal.printResult(`${safeJson({ change, status, view, iterations: records ?? [] })}\n`);
  else if (view && records) terminal.printResult(`${renderStatus(view, records, alive).join('\n')}\n`);
  else
    terminal.printResult(
      `${change}: no run yet, 0 iterations. Start one with "${commandLine('spool', 'ralph', '--change', change)}".\n`,
    );
  return 0;
};
