/**
 * How the process of an agent lives: `cold` starts one per iteration, `standby` starts the next one while the current one
 * works, `warm` keeps one for the whole run. The context of the agent is new in every iteration of every mode.
 */
export const agentModes = ['cold', 'standby', 'warm'] as const;

export type AgentMode = (typeof agentModes)[number];
