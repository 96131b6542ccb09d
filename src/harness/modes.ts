import { type AgentMode, agentModes } from './agent-mode.ts';
import type { Harness } from './harness.ts';

export interface ModeCircumstances {
  /** null for the default of the agent. */
  readonly wanted: AgentMode | null;
  readonly isSandboxed: boolean;
  /** It runs on a worker. */
  readonly isWorker: boolean;
  readonly platform: NodeJS.Platform;
}

export interface ChosenMode {
  readonly mode: AgentMode;
  /** Why it is not the mode that the user wants; null if it is. */
  readonly why: string | null;
}

/** The modes in which an agent can run. */
export const modesOf = ({ acp }: Pick<Harness, 'acp'>): readonly AgentMode[] => (acp ? agentModes : ['cold']);

export const defaultModeOf = ({ acp }: Pick<Harness, 'acp'>): AgentMode => acp?.defaultMode ?? 'cold';

/** Whether an agent is prompted by the Agent Client Protocol in a mode. */
export const speaksAcp = ({ acp }: Pick<Harness, 'acp'>, mode: AgentMode): boolean =>
  acp !== undefined && (acp.only === true || mode !== 'cold');

/** What an agent reports in a mode. */
export const capabilitiesIn = (harness: Pick<Harness, 'acp' | 'capabilities'>, mode: AgentMode) =>
  (speaksAcp(harness, mode) ? harness.acp?.capabilities : undefined) ?? harness.capabilities;

/** Returns the mode in which an agent runs. */
export const chooseMode = (harness: Harness, circumstances: ModeCircumstances): ChosenMode => {
  const { wanted } = circumstances;
  const mode = wanted ?? defaultModeOf(harness);
  if (mode === 'cold') return { mode, why: null };
  const why = obstacle(harness, circumstances);
  // The user need not know about a default that does not apply.
  return why === null ? { mode, why } : { mode: 'cold', why: wanted === null ? null : why };
};

/** Says why an agent runs in the mode that `chooseMode` returns, whether or not the user wants another. */
export const reasonForMode = (harness: Harness, circumstances: ModeCircumstances): string => {
  const { wanted } = circumstances;
  const why = (wanted ?? defaultModeOf(harness)) === 'cold' ? null : obstacle(harness, circumstances);
  if (why !== null) return why;
  if (!harness.acp) return 'its only mode';
  return wanted === null ? 'its default' : 'your setting';
};

const obstacle = (harness: Harness, { isSandboxed, isWorker, platform }: ModeCircumstances): string | null => {
  if (!harness.acp) return `${harness.title} cannot keep running between iterations`;
  if (isSandboxed) return 'a sandbox ends with each iteration';
  // It must be able to end everything of an iteration at any time.
  if (isWorker) return 'workers start a process for each iteration';
  // Elsewhere, what a tool leaves running cannot be found while the agent lives on.
  if (platform !== 'linux') return `it is only supported on Linux`;
  return null;
};
