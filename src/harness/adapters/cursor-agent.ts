import type { Harness } from '../harness.ts';
import { createStreamJsonDecoder } from '../stream-json.ts';

/** Cursor's CLI. Written from its documentation: it cannot be pointed at a test model. */
export const cursorAgent: Harness = {
  name: 'cursor-agent',
  title: 'Cursor',
  install: 'curl https://cursor.com/install -fsS | bash',
  launch: {
    binary: 'cursor-agent',
    args: ({ model, allowAll }) => [
      '--print',
      '--output-format',
      'stream-json',
      ...(model === null ? [] : [`--model=${model}`]),
      ...(allowAll ? ['--force'] : []),
    ],
  },
  output: {
    decoder: createStreamJsonDecoder,
  },
  capabilities: ['text', 'tools'],
  permissions: {
    howToAllow: () => 'add "Shell(**)" and "Write(**)" to permissions.allow in .cursor/cli.json',
  },
  advice: {
    auth: 'sign in with "cursor-agent login"',
    model: 'choose another with --model',
  },
  sandbox: {
    data: (home) => [`${home}/.cursor`, `${home}/.config/cursor`],
    settings: (home) =>
      ['cli-config.json', 'mcp.json', 'hooks.json', 'rules', 'commands'].map((name) => `${home}/.cursor/${name}`),
    hosts: ['*.cursor.sh', 'cursor.com', 'www.cursor.com'],
  },
};
