import { type FlagName, flagOf, flags, type Options } from '../../config/flags.ts';
import { userError } from '../../errors.ts';
import { readText } from '../../files/read.ts';
import { isResumable, type RunView } from '../../ralph/view.ts';
import { runFolder, userPromptFile } from '../../store/paths.ts';
import { asRecorded } from '../../store/user-state/steps.ts';
import { recognise, withSecrets } from '../../store/user-state/identity.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { duration } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import { recordedSettings } from './recorded-settings.ts';
import { keptAgents } from './kept-agents.ts';
import { type KeptSettings, keptSettings } from './kept-settings.ts';
import { changedSince, describeChanged } from './changed-settings.ts';
import { readLastRun } from './last-run.ts';
import type { RunSpec } from '../spec.ts';

/**
 * With `--resume`, returns the spec with all settings of the last run, except permissions and what the caller set
 * explicitly. An interrupted run keeps its plan anyway. Throws if there is nothing to resume, or if Spool did not write
 * the state of that run.
 */
export const withLastSettings = async (spec: RunSpec, env: NodeJS.ProcessEnv): Promise<RunSpec> => {
  const view = spec.options.resume ? await trustedLastRun(spec, env) : null;
  return view === null ? spec : withSettingsOf(view, spec);
};

/**
 * Returns the last run if it was started here; null if it is running, or if the start of the run asks the user about
 * it.
 */
const trustedLastRun = async (spec: RunSpec, env: NodeJS.ProcessEnv): Promise<RunView | null> => {
  const { project } = spec;
  const change = spec.target.id;
  const { view: saved, isRunning, hasSettings } = await readLastRun(spec);
  if (isRunning) return null;
  const folder = userStateFolder(project, change, env);
  const view = saved && hasSettings ? withSecrets(folder, asRecorded(folder, saved)) : null;
  if (view === null || view.status === 'complete') throw nothingToResume(change, view);
  const recognised = recognise(folder, saved!);
  if (recognised === 'same') return view;
  if (recognised !== 'unknown') throw userError('changed-run', change, recognised);
  // It is resumed only if the user agrees, and without what is recorded here.
  if (isResumable(view)) return null;
  throw userError('unknown-run', change);
};

const withSettingsOf = (view: RunView, spec: RunSpec): RunSpec => {
  const { project, target, options, explicit, fileSettings } = spec;
  const then = view.settings;
  const changed = then === null ? [] : changedSince(then, fileSettings, explicit);
  const before = keptSettings(view);
  const isTaken = (name: FlagName) => !explicit.has(name) && !changed.includes(name);
  const kept = Object.fromEntries(Object.entries(before).filter(([name]) => isTaken(name as FlagName)));
  // Rules that the file denies by now apply as well.
  const taken = Array.isArray(kept.deny) ? { ...kept, deny: [...new Set([...kept.deny, ...options.deny])] } : kept;
  const notices = noticesOf(spec, view, before);
  if (isResumable(view)) return { ...spec, options: { ...options, ...pick(taken, recordedSettings) }, notices };
  return {
    ...spec,
    options: {
      ...options,
      ...taken,
      ...keptAgents(view, options, isTaken),
      sandbox: options.sandbox || view.sandbox,
    },
    explicit: new Set([...explicit, ...((then?.explicit ?? []) as FlagName[]).filter((name) => name in taken)]),
    prompt: spec.prompt || (readText(userPromptFile(runFolder(project, target.id, view.run))) ?? ''),
    notices: [...notices, ...(changed.length === 0 ? [] : [describeChanged(changed, then!.file, fileSettings)])],
  };
};

const nothingToResume = (change: string, view: RunView | null) => {
  const why = view === null ? `${change} has no run to resume` : `the last run of ${change} is complete`;
  return userError('nothing-to-resume', why, commandLine('spool', 'ralph', '--change', change));
};

const pick = (settings: KeptSettings, names: readonly FlagName[]): KeptSettings =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => names.includes(name as FlagName)));

/** One line about the settings that are used again, and one for each that is not. */
const noticesOf = ({ options, explicit }: RunSpec, view: RunView, before: KeptSettings): string[] => {
  const changes = (Object.keys(before) as (keyof KeptSettings)[])
    .filter((name) => explicit.has(name) && textOf(name, before[name]) !== textOf(name, options[name]))
    .map((name) => `${flagOf(name)} is ${textOf(name, options[name])} (was ${textOf(name, before[name])})`);
  const except = changes.length === 0 ? '' : `, except: ${changes.join(', ')}`;
  const notice = `Using the settings of the last run (${view.run})${except}.`;
  const lostPermission = view.allowAll && !options.allowAll;
  const lostAddress = view.settings?.explicit.includes('notify') && !('notify' in before) && !explicit.has('notify');
  return [
    notice,
    ...(lostPermission
      ? ['The last run had --allow-all. Permissions are not reused: pass it again if the agent needs it.']
      : []),
    ...(lostAddress ? ['The last run had --notify with an address, which is not recorded: pass it again.'] : []),
  ];
};

const textOf = (name: FlagName, value: Options[FlagName] | undefined): string => {
  if (value === undefined || value === null || value === '') return 'not set';
  if (value === Infinity) return 'unlimited';
  if (typeof value === 'number') return flags[name].kind.startsWith('duration') ? duration(value) : String(value);
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return typeof value === 'string' ? value : value.join(', ') || 'not set';
};
