import type { Harness } from '../harness.ts';
import { createStreamJsonDecoder } from '../stream-json.ts';

/** Amp; from its documentation, as it could not be run against a model of our own. It chooses its model itself. */
export const amp: Harness = {
  name: 'amp',
  title: 'Amp',
  binary: 'amp',
  install: 'npm install -g @sourcegraph/amp',
  choosesOwnModel: true,
  capabilities: ['text', 'tools'],
  args: ({ allowAll }) => ['--execute', '--stream-json', ...(allowAll ? ['--dangerously-allow-all'] : [])],
  sandbox: {
    data: (home) => [`${home}/.local/share/amp`, `${home}/.cache/amp`],
    hosts: ['ampcode.com', '*.ampcode.com'],
  },
  advice: {
    auth: 'sign in with "amp login"',
    permission: (tools) =>
      `add { "tool": "${tools[0] ?? '*'}", "action": "allow" } to amp.permissions in ~/.config/amp/settings.json`,
  },
  decoder: createStreamJsonDecoder,
};
