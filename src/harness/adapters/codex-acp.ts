import { createAcpDecoder } from '../acp/decoder.ts';
import type { AcpQuirks, Harness } from '../harness.ts';
import { field, textAt } from '../json.ts';
import { codex } from './codex.ts';

/** Only messages of the model have an ID. A turn that failed is answered as if it had succeeded. */
const quirks: AcpQuirks = {
  isAside: (piece) => field(piece, 'messageId') === undefined,
  hasFailed: (update) => {
    const status = textAt(update, '_meta', 'codex', 'threadStatus', 'type');
    return status === null ? null : status === 'systemError';
  },
};

/** Codex behind the adapter of the Agent Client Protocol, which contains its own Codex. */
export const codexAcp: Harness = {
  name: 'codex-acp',
  title: 'Codex ACP',
  install: 'npm install -g @agentclientprotocol/codex-acp',
  launch: { ...codex.launch, binary: 'codex-acp', args: () => [] },
  output: { decoder: (title) => createAcpDecoder(title, quirks) },
  acp: {
    only: true,
    defaultMode: 'cold',
    start: () => ({ args: [] }),
    // In its default mode it asks no one: another model decides.
    sessionMode: 'read-only',
    allowAllMode: 'agent-full-access',
    quirks,
  },
  capabilities: ['text', 'tools', 'tokens'],
  permissions: { howToAllow: () => 'add a rule to "permissions.allow" in .spool/config.json' },
  advice: codex.advice!,
  sandbox: codex.sandbox!,
};
