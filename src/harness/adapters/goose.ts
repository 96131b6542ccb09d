import { createAcpDecoder } from '../acp/decoder.ts';
import type { AcpQuirks, Harness } from '../harness.ts';
import { textAt } from '../json.ts';
import { providerHosts } from '../providers.ts';

/** An error of the provider is a message, and the turn ends as if it had succeeded. */
const quirks: AcpQuirks = {
  isAside: (piece) => textAt(piece, 'content', 'text')?.startsWith('Ran into this error: ') ?? false,
  partialUsage: true,
};

/** goose. Every tool needs a permission in its mode "approve". */
export const goose: Harness = {
  name: 'goose',
  title: 'goose',
  install: 'npm install -g @aaif/goose',
  launch: { binary: 'goose', args: () => ['acp'] },
  output: { decoder: (title) => createAcpDecoder(title, quirks) },
  acp: {
    only: true,
    defaultMode: 'warm',
    // Otherwise it sends the prompt a second time for a title, and asks the model to sum up each tool call.
    start: () => ({
      args: ['acp'],
      env: { GOOSE_DISABLE_SESSION_NAMING: 'true', GOOSE_DISABLE_TOOL_CALL_SUMMARY: 'true' },
    }),
    sessionMode: 'approve',
    needsSignal: true,
    readAtStart: (env) => [configFolder(env.HOME ?? '', env)],
    quirks,
  },
  capabilities: ['text', 'tools', 'denials'],
  permissions: {
    defaultRestrictions: 'it can use only tools that your permission rules allow',
    howToAllow: () => 'add a rule to "permissions.allow" in .spool/config.json',
  },
  advice: {
    auth: 'sign in with "goose configure"',
    model: 'choose another with --model',
  },
  sandbox: {
    data: (home, env) => [
      configFolder(home, env),
      `${env.XDG_DATA_HOME || `${home}/.local/share`}/goose`,
      `${env.XDG_STATE_HOME || `${home}/.local/state`}/goose`,
    ],
    settings: (home, env) =>
      ['config.yaml', 'secrets.yaml', 'permission.yaml', '.goosehints', 'recipes', 'skills', 'prompts'].map(
        (name) => `${configFolder(home, env)}/${name}`,
      ),
    hosts: providerHosts,
  },
};

const configFolder = (home: string, env: NodeJS.ProcessEnv) => `${env.XDG_CONFIG_HOME || `${home}/.config`}/goose`;
