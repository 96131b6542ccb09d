import type { Options, FlagValues } from '../config/flags.ts';
import type { Change } from '../changes/source.ts';
import { scenarioSource, withOwnCommands } from '../config/own-commands.ts';
import { resolveOptions } from '../config/resolve.ts';
import { userError } from '../errors.ts';
import type { Project } from '../store/project.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { withSecrets, recognise } from '../store/user-state/identity.ts';
import { loadRun } from '../store/state.ts';
import { gateCommands } from '../ralph/plan.ts';
import type { RunView } from '../ralph/view.ts';
import { mask } from '../secrets/redact.ts';
import { includeSource } from '../trust/settings.ts';
import { distrustWritable, refuseWidening } from '../run/sandbox.ts';
import { sourceFor, withRecordedVerify, withScenarioVerify } from '../run/trust-runs.ts';
import { withScenarioCommands } from '../run/plan/scenario-commands.ts';
import { checkCopies, type Consent, requireTrust } from '../run/require-trust.ts';
import type { LandProofSettings, LandSettings } from './landing.ts';

interface SettingsRequest {
  readonly project: Project;
  readonly target: Change;
  readonly flagValues: FlagValues;
  readonly env: NodeJS.ProcessEnv;
  /** The folder that paths in the settings are relative to. */
  readonly cwd: string;
  /** Land even if the scenarios are not proven. */
  readonly force: boolean;
  readonly consentFor: (options: Options) => Consent;
}

/** Returns the settings of a landing. Throws if a command of the project that it would run is not trusted. */
export const trustLanding = async ({
  project,
  target,
  flagValues,
  env,
  cwd,
  force,
  consentFor,
}: SettingsRequest): Promise<LandSettings> => {
  const change = target.id;
  const resolved = await resolveOptions({ flagValues, env, project });
  const { forChange, explicit, config: current, passLists } = withOwnCommands(resolved, [target]);
  const options = forChange(change);
  distrustWritable(options, { cwd, env }, []);
  const { view } = await loadRun(project, change);
  const folder = userStateFolder(project, change, env);
  const isKnown = view !== null && wasStartedHere(folder, view);
  const recordedCommands = view ? withSecrets(folder, view).gate.verify : [];
  const usesRecorded = !explicit.has('verify') && recordedCommands.length > 0;
  const commands = usesRecorded ? recordedCommands : options.verify;
  const isFromFile = !explicit.has('verify') && commands.join('\n') === options.verify.join('\n');
  if (usesRecorded && !isFromFile && !isKnown && env.SPOOL_TRUST !== '1') throw userError('unknown-gate', change);
  if (usesRecorded && !isKnown && recordedCommands.some((command) => command.includes(mask)))
    throw userError('redacted-run', change, '--verify');
  const isFromProject = isFromFile || (usesRecorded && !view?.settings?.explicit.includes('verify'));
  const recorded = isFromProject
    ? withRecordedVerify({ project, config: current, env, change, target, commands })
    : current;
  const proof = options.requireScenarios && !force ? await proofSettings({ project, target, options }, view) : null;
  const ofScenarios = gateCommands({ verify: [], scenarioCommands: proof?.scenarioCommands ?? {} });
  const config = withScenarioVerify(recorded, change, ofScenarios);
  const needed = new Set([
    ...(isFromProject ? [sourceFor(config, change, 'verify')] : []),
    ...(explicit.has('worktreeSetup') ? [] : [sourceFor(config, change, 'worktreeSetup')]),
    ...(ofScenarios.length === 0 ? [] : [scenarioSource(change)]),
    includeSource,
  ]);
  const of = { project, config, env, needed };
  // Without a verify command, the setup does not run either.
  const trusted =
    commands.length + ofScenarios.length === 0 ? [] : await requireTrust({ ...of, consent: consentFor(options) });
  const sandbox = options.sandbox || (view?.sandbox ?? false);
  if (!sandbox) refuseWidening(explicit);
  const checkIn: LandSettings['checkIn'] = (root, howToSee) => checkCopies({ ...of, trusted, root, howToSee });
  return { options, commands, proof, sandbox, passLists, checkIn };
};

/** The reports are those that the last run was told about, unless the project has others. */
const proofSettings = async (
  of: { readonly project: Project; readonly target: Change; readonly options: Options },
  view: RunView | null,
): Promise<LandProofSettings> => {
  const { scenarioCommands = {} } = await withScenarioCommands(of, { view });
  return { scenarioCommands, reports: view?.gate.reports ?? of.options.report };
};

/** The fields of the last run that decide how its branch lands. */
const decidingFields: ReadonlySet<string> = new Set(['gate', 'sandbox', 'settings', 'workspace']);

/** Returns whether the last run was started here. Throws if it was, and its state.json has been changed since. */
const wasStartedHere = (folder: string, view: RunView): boolean => {
  const recognised = recognise(folder, view);
  if (recognised === 'unknown') return false;
  const changed = recognised === 'same' ? [] : recognised.filter((name) => decidingFields.has(name));
  if (changed.length > 0) throw userError('changed-last-run', view.change, changed);
  return true;
};
