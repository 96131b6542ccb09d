import type { Harness } from '../harness.ts';
import { createStreamJsonDecoder } from '../stream-json.ts';

/** Amp. Written from its documentation: it cannot be pointed at a test model. */
export const amp: Harness = {
  name: 'amp',
  title: 'Amp',
  install: 'npm install -g @sourcegraph/amp',
  launch: {
    binary: 'amp',
    choosesOwnModel: true,
    args: ({ allowAll }) => ['--execute', '--stream-json', ...(allowAll ? ['--dangerously-allow-all'] : [])],
  },
  output: {
    decoder: createStreamJsonDecoder,
  },
  capabilities: ['text', 'tools'],
  permissions: {
    howToAllow: (tools) =>
      `add { "tool": "${tools[0] ?? '*'}", "action": "allow" } to amp.permissions in ~/.config/amp/settings.json`,
  },
  advice: {
    auth: 'sign in with "amp login"',
  },
  sandbox: {
    data: (home) => [`${home}/.local/share/amp`, `${home}/.cache/amp`],
    hosts: ['ampcode.com', '*.ampcode.com'],
  },
};
