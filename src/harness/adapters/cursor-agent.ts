import type { Harness } from '../harness.ts';
import { createStreamJsonDecoder } from '../stream-json.ts';

/** Cursor's CLI; from its documentation, as it could not be run against a model of our own. */
export const cursorAgent: Harness = {
  name: 'cursor-agent',
  title: 'Cursor',
  binary: 'cursor-agent',
  install: 'curl https://cursor.com/install -fsS | bash',
  capabilities: ['text', 'tools'],
  args: ({ model, allowAll }) => [
    '--print',
    '--output-format',
    'stream-json',
    ...(model === null ? [] : [`--model=${model}`]),
    ...(allowAll ? ['--force'] : []),
  ],
  sandbox: {
    data: (home) => [`${home}/.cursor`, `${home}/.config/cursor`],
    settings: (home) =>
      ['cli-config.json', 'mcp.json', 'hooks.json', 'rules', 'commands'].map((name) => `${home}/.cursor/${name}`),
    hosts: ['*.cursor.sh', 'cursor.com', 'www.cursor.com'],
  },
  advice: {
    auth: 'sign in with "cursor-agent login"',
    model: 'choose another with --model',
    permission: () => 'add "Shell(**)" and "Write(**)" to permissions.allow in .cursor/cli.json',
  },
  decoder: createStreamJsonDecoder,
};
