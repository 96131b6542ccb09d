import { resolveOptions, type TypedFlags } from '../../config.ts';
import type { Project } from '../../project/find.ts';
import { readState } from '../../project/state.ts';
import { includeSource } from '../../trust/settings.ts';
import type { Call } from '../command.ts';
import { sourceFor } from '../ralph/trust.ts';
import { requireTrust } from '../trust/require.ts';
import type { LandSettings } from './landing.ts';

/** The settings of a landing. What it would run of the project is trusted, or nothing is landed. */
export const trustLanding = async (project: Project, change: string, call: Call): Promise<LandSettings> => {
  const { onto: _, force: _force, keepBranch: _keep, ...typed } = call.typed;
  const { forChange, asked, config } = await resolveOptions({ typed: typed as TypedFlags, env: call.env, project });
  const settings = { options: forChange(change), isVerifyGiven: asked.has('verify') };
  const commands = await gateOf(project, change, settings).catch(() => settings.options.verify);
  const isFromFile = !settings.isVerifyGiven && commands.join('\n') === settings.options.verify.join('\n');
  const needed = [
    ...(isFromFile ? [sourceFor(config, change, 'verify')] : []),
    ...(asked.has('worktreeSetup') ? [] : [sourceFor(config, change, 'worktreeSetup')]),
    includeSource,
  ];
  // Without a command to verify it, nothing is set up either.
  if (commands.length > 0)
    await requireTrust({ project, config, call, needed: new Set(needed), mayAsk: settings.options.interactive });
  return settings;
};

/** The commands of the last run, or of the config file and the flags. */
export const gateOf = async (
  project: Project,
  change: string,
  { options, isVerifyGiven }: LandSettings,
): Promise<readonly string[]> => {
  const kept = (await readState(project, change))?.gate.verify ?? [];
  return isVerifyGiven || kept.length === 0 ? options.verify : kept;
};
