import type { Options } from '../../config/flags.ts';
import { agentKey } from '../../ralph/plan.ts';
import type { RunView } from '../../ralph/view.ts';

/** The settings that decide which agents a run uses. */
export const agentSettings = ['harness', 'model', 'escalate'] as const;

export type AgentSettings = Pick<Options, (typeof agentSettings)[number]>;

/**
 * Returns the agents of a run that uses the settings of an earlier one. `isKept` returns false for a setting that the
 * caller sets explicitly, or that has changed in the config file since. A model that was set when the earlier run began
 * is kept, even for agents that were added to the config file since.
 */
export const keptAgents = (
  { agents, ladder, settings }: Pick<RunView, 'agents' | 'ladder' | 'settings'>,
  { harness, model, escalate }: AgentSettings,
  isKept: (name: keyof AgentSettings) => boolean,
): AgentSettings => {
  if (!isKept('escalate')) return { harness, model, escalate };
  if (!isKept('harness')) {
    const keepsModel = isKept('model') && (settings?.explicit.includes('model') ?? false);
    return { harness, model: keepsModel ? (agents[0]?.model ?? null) : model, escalate: null };
  }
  const before = agents.map(agentKey).join(',');
  if (isKept('model')) return { harness: before, model: null, escalate: ladder ? before : null };
  // One model for all of them is no ladder.
  const names = agents.map((agent) => agent.harness);
  return { harness: (ladder ? [...new Set(names)] : names).join(','), model, escalate: null };
};
