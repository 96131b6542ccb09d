import { resolveOptions, type TypedFlags } from '../../config.ts';
import type { Project } from '../../project/find.ts';
import { readRun } from '../../project/state.ts';
import { includeSource } from '../../trust/settings.ts';
import type { Call } from '../command.ts';
import { sourceFor } from '../ralph/trust.ts';
import { requireTrust } from '../trust/require.ts';
import type { LandSettings } from './landing.ts';

/** The settings of a landing. What it would run of the project is trusted, or nothing is landed. */
export const trustLanding = async (project: Project, change: string, call: Call): Promise<LandSettings> => {
  const { onto: _, force: _force, keepBranch: _keep, ...typed } = call.typed;
  const { forChange, asked, config } = await resolveOptions({ typed: typed as TypedFlags, env: call.env, project });
  const options = forChange(change);
  const kept = (await readRun(project, change)).view?.gate.verify ?? [];
  const isKept = !asked.has('verify') && kept.length > 0;
  const commands = isKept ? kept : options.verify;
  const isFromFile = !asked.has('verify') && commands.join('\n') === options.verify.join('\n');
  const needed = [
    ...(isFromFile ? [sourceFor(config, change, 'verify')] : []),
    ...(asked.has('worktreeSetup') ? [] : [sourceFor(config, change, 'worktreeSetup')]),
    includeSource,
  ];
  // Without a command to verify it, nothing is set up either.
  if (commands.length > 0)
    await requireTrust({ project, config, call, needed: new Set(needed), mayAsk: options.interactive });
  return { options, commands };
};
