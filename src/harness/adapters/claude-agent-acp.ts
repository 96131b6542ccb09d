import { createAcpDecoder } from '../acp/decoder.ts';
import type { Harness } from '../harness.ts';
import { claude } from './claude.ts';

/** Claude Code behind the adapter of the Agent Client Protocol, which contains its own Claude Code. */
export const claudeAgentAcp: Harness = {
  name: 'claude-agent-acp',
  title: 'Claude Agent ACP',
  install: 'npm install -g @agentclientprotocol/claude-agent-acp',
  launch: { binary: 'claude-agent-acp', args: () => [] },
  output: { decoder: createAcpDecoder },
  acp: {
    only: true,
    defaultMode: 'cold',
    // A session accepts only the models that it lists.
    start: (_, { model }) => ({ args: [], ...(model !== null && { env: { ANTHROPIC_MODEL: model } }) }),
    modelAtStart: true,
    sessionMode: 'default',
  },
  capabilities: ['text', 'tools', 'tokens', 'cost', 'denials'],
  permissions: { howToAllow: () => 'add a rule to "permissions.allow" in .spool/config.json' },
  advice: claude.advice!,
  sandbox: claude.sandbox!,
};
