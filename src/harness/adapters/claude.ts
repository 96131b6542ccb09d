import { join, sep } from 'node:path';
import type { Harness, HarnessEnvironment } from '../harness.ts';
import { field, listAt, textAt } from '../json.ts';
import { createStreamJsonDecoder } from '../stream-json.ts';
import { claudeRules } from '../permissions/claude-rules.ts';

/** Claude Code 2.x. `stream-json` needs `--verbose`. */
export const claude: Harness = {
  name: 'claude',
  title: 'Claude Code',
  install: 'npm install -g @anthropic-ai/claude-code',
  launch: {
    binary: 'claude',
    args: ({ model, allowAll, isReview, asSuperuser }) => [
      '--print',
      '--verbose',
      '--output-format',
      'stream-json',
      ...(model === null ? [] : [`--model=${model}`]),
      ...(allowAll ? allowAllArgs(asSuperuser) : isReview ? reviewArgs : []),
    ],
  },
  output: {
    decoder: createStreamJsonDecoder,
  },
  capabilities: ['text', 'tools', 'tokens', 'cost', 'denials'],
  auth: { args: ['auth', 'status'], signedOut: /"loggedIn":\s*false/, fix: 'claude auth login' },
  permissions: {
    ownRules: claudeRules,
    isGranted,
    howToAllow: (tools) =>
      `add ${rulesFor(tools)} to permissions.allow in ~/.claude/settings.json, or in .claude/settings.json of a folder that Claude Code trusts`,
  },
  advice: {
    auth: 'sign in with "claude auth login", or set ANTHROPIC_API_KEY',
    model: 'choose another with --model',
  },
  sandbox: {
    data: (home, env) => [env.CLAUDE_CONFIG_DIR || `${home}/.claude`, `${home}/.claude.json`],
    settings: (home, env) =>
      [
        'settings.json',
        'settings.local.json',
        'CLAUDE.md',
        'hooks',
        'agents',
        'commands',
        'skills',
        'output-styles',
        'local',
      ].map((name) => `${env.CLAUDE_CONFIG_DIR || `${home}/.claude`}/${name}`),
    created: (home, env) => [`${env.CLAUDE_CONFIG_DIR || `${home}/.claude`}/plugins`],
    hosts: ['api.anthropic.com', 'claude.ai', 'console.anthropic.com', 'platform.claude.com'],
  },
};

/** Each tool needs its own rule: `Edit` does not allow `Write`. */
const rulesFor = (tools: readonly string[]): string =>
  (tools.length === 0 ? ['Bash', 'Edit', 'Write'] : tools).map((tool) => `"${tool}"`).join(', ');

/** Claude Code ignores the settings of a project until the user trusts the folder in an interactive session. */
function isGranted({ root, env, readJson }: HarnessEnvironment): boolean {
  const home = env.HOME ?? '';
  const folders = field(readJson(join(env.CLAUDE_CONFIG_DIR || home, '.claude.json')), 'projects') ?? {};
  const trusted = Object.entries(folders).some(
    ([folder, facts]) =>
      field(facts, 'hasTrustDialogAccepted') === true && `${root}${sep}`.startsWith(`${folder}${sep}`),
  );
  const files = [
    join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json'),
    ...(trusted ? ['settings.json', 'settings.local.json'].map((name) => join(root, '.claude', name)) : []),
  ];
  return files.map(readJson).some(allowsSomething);
}

const allowsSomething = (settings: unknown): boolean =>
  listAt(settings, 'permissions', 'allow').length > 0 ||
  ['acceptEdits', 'auto', 'bypassPermissions'].includes(textAt(settings, 'permissions', 'defaultMode') ?? '');

/** Claude Code refuses to skip permissions as root, but accepts a list of tools. */
const allowAllArgs = (asSuperuser: boolean): string[] =>
  asSuperuser ? ['--allowedTools', everyTool] : ['--dangerously-skip-permissions'];

const everyTool = 'Bash,Edit,Glob,Grep,LS,MultiEdit,NotebookEdit,Read,Task,TodoWrite,WebFetch,WebSearch,Write';

/** A reviewer reads and runs commands. It is not offered what edits files. */
const reviewArgs = [
  '--allowedTools',
  'Bash,Glob,Grep,LS,Read,Task,TodoWrite',
  '--disallowedTools',
  'Edit,MultiEdit,NotebookEdit,Write',
];
