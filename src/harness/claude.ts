import { join } from 'node:path';
import type { Harness } from './harness.ts';
import { listAt, textAt } from './json.ts';
import { createStreamJsonDecoder } from './stream-json.ts';

/** Claude Code 2.x. `stream-json` needs `--verbose`. */
export const claude: Harness = {
  name: 'claude',
  title: 'Claude Code',
  binary: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  reports: ['text', 'tools', 'tokens', 'cost', 'denials'],
  signIn: { args: ['auth', 'status'], signedOut: /"loggedIn":\s*false/, maybe: false, fix: 'claude auth login' },
  grants: {
    files: (root, env) => [
      join(env.CLAUDE_CONFIG_DIR || join(env.HOME ?? '', '.claude'), 'settings.json'),
      join(root, '.claude', 'settings.json'),
      join(root, '.claude', 'settings.local.json'),
    ],
    allows: (settings) =>
      listAt(settings, 'permissions', 'allow').length > 0 ||
      ['acceptEdits', 'auto', 'bypassPermissions'].includes(textAt(settings, 'permissions', 'defaultMode') ?? ''),
  },
  args: ({ model, allowAll, root }) => [
    '--print',
    '--verbose',
    '--output-format',
    'stream-json',
    ...(model === null ? [] : ['--model', model]),
    ...(allowAll ? permissions(root) : []),
  ],
  advice: {
    auth: 'sign in with "claude auth login", or set ANTHROPIC_API_KEY',
    model: 'choose another with --model',
    permission: (tools) => `add ${rulesFor(tools)} to permissions.allow in .claude/settings.json`,
  },
  decoder: createStreamJsonDecoder,
};

/** One rule is for every tool that changes files. */
const rulesFor = (tools: readonly string[]): string => {
  const rules = tools.map((tool) => (/^(?:Write|MultiEdit|NotebookEdit)$/.test(tool) ? 'Edit' : tool));
  return [...new Set(rules.length === 0 ? ['Bash', 'Edit'] : rules)].map((rule) => `"${rule}"`).join(', ');
};

/** Claude Code refuses to skip permissions as root, but takes a list of tools. */
const permissions = (root: boolean): string[] =>
  root ? ['--allowedTools', everyTool] : ['--dangerously-skip-permissions'];

const everyTool = 'Bash,Edit,Glob,Grep,LS,MultiEdit,NotebookEdit,Read,Task,TodoWrite,WebFetch,WebSearch,Write';
