import { type UserError, userError } from '../errors.ts';
import { amp } from './adapters/amp.ts';
import { claude } from './adapters/claude.ts';
import { codex } from './adapters/codex.ts';
import { copilot } from './adapters/copilot.ts';
import { cursorAgent } from './adapters/cursor-agent.ts';
import { gemini } from './adapters/gemini.ts';
import type { Harness } from './harness.ts';
import { opencode } from './adapters/opencode.ts';
import { pi } from './adapters/pi.ts';
import { agentProgram, type Lookup, passedOver } from './program.ts';
import { qwen } from './adapters/qwen.ts';

export const harnesses: readonly Harness[] = [opencode, claude, codex, copilot, gemini, cursorAgent, pi, qwen, amp];

export const findHarness = (name: string, own: readonly Harness[]): Harness => {
  const all = [...harnesses, ...own];
  const harness = all.find((known) => known.name === name);
  if (harness) return harness;
  throw userError(
    'unknown-harness',
    name,
    all.map((known) => known.name),
  );
};

/** The error that says what is missing and what there is instead; null when the agent is there. */
export const missingBinary = (harness: Harness, lookup: Lookup): UserError | null => {
  if (agentProgram(harness, lookup)) return null;
  const others = harnesses.filter((other) => other !== harness && agentProgram(other, lookup)).map(({ name }) => name);
  const inProject = passedOver(harness, lookup);
  return inProject === null
    ? userError('missing-binary', harness.binary, harness.install, others)
    : userError('agent-in-project', inProject, harness.install, others);
};
