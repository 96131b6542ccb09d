import { type UserError, userError } from '../errors.ts';
import { amp } from './adapters/amp.ts';
import { claude } from './adapters/claude.ts';
import { claudeAgentAcp } from './adapters/claude-agent-acp.ts';
import { codexAcp } from './adapters/codex-acp.ts';
import { codex } from './adapters/codex.ts';
import { copilot } from './adapters/copilot.ts';
import { cursorAgent } from './adapters/cursor-agent.ts';
import { gemini } from './adapters/gemini.ts';
import { goose } from './adapters/goose.ts';
import type { Harness } from './harness.ts';
import { opencode } from './adapters/opencode.ts';
import { pi } from './adapters/pi.ts';
import { agentProgram, type Lookup, passedOver } from './program.ts';
import { qwen } from './adapters/qwen.ts';

export const harnesses: readonly Harness[] = [
  opencode,
  claude,
  codex,
  copilot,
  gemini,
  cursorAgent,
  pi,
  qwen,
  goose,
  amp,
  codexAcp,
  claudeAgentAcp,
];

/** Throws a user error if no harness has this name. */
export const findHarness = (name: string, custom: readonly Harness[]): Harness => {
  const all = [...harnesses, ...custom];
  const harness = all.find((known) => known.name === name);
  if (harness) return harness;
  throw userError(
    'unknown-harness',
    name,
    all.map((known) => known.name),
  );
};

/** Returns the error for an agent that is not installed, or null if it is. */
export const missingBinary = (harness: Harness, lookup: Lookup): UserError | null => {
  if (agentProgram(harness, lookup)) return null;
  const others = harnesses.filter((other) => other !== harness && agentProgram(other, lookup)).map(({ name }) => name);
  const inProject = passedOver(harness, lookup);
  return inProject === null
    ? userError('missing-binary', harness.launch.binary, harness.install, others)
    : userError('agent-in-project', inProject, harness.install, others);
};
