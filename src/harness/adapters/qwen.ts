import type { Harness } from '../harness.ts';
import { providerHosts } from '../providers.ts';
import { createStreamJsonDecoder } from '../stream-json.ts';
import { qwenRules } from '../permissions/qwen-rules.ts';

/** Qwen Code. Without --yolo it does not offer the model any tool that writes. */
export const qwen: Harness = {
  name: 'qwen',
  title: 'Qwen Code',
  install: 'npm install -g @qwen-code/qwen-code',
  launch: {
    binary: 'qwen',
    args: ({ model, allowAll }) => [
      '--output-format',
      'stream-json',
      ...(model === null ? [] : [`--model=${model}`]),
      ...(allowAll ? ['--yolo'] : []),
    ],
  },
  output: {
    decoder: createStreamJsonDecoder,
  },
  acp: {
    defaultMode: 'warm',
    capabilities: ['text', 'tools', 'tokens', 'denials'],
    start: (_, { model }) => ({ args: ['--acp', ...(model === null ? [] : [`--model=${model}`])] }),
    modelAtStart: true,
    sessionMode: 'default',
  },
  capabilities: ['text', 'tools', 'tokens'],
  permissions: {
    ownRules: qwenRules,
    defaultRestrictions: 'it cannot edit files or run commands',
    howToAllow: (tools) =>
      `add ${tools.length === 0 ? 'it' : tools.map((tool) => `"${tool}"`).join(', ')} to permissions.allow in .qwen/settings.json`,
  },
  advice: {
    auth: 'sign in with "qwen" and then /auth',
    model: 'choose another with --model',
  },
  sandbox: {
    data: (home) => [`${home}/.qwen`],
    settings: (home) =>
      ['settings.json', 'QWEN.md', 'trustedFolders.json', 'commands'].map((name) => `${home}/.qwen/${name}`),
    created: (home) => ['extensions', 'skills'].map((name) => `${home}/.qwen/${name}`),
    hosts: [
      'chat.qwen.ai',
      'portal.qwen.ai',
      'dashscope.aliyuncs.com',
      'dashscope-intl.aliyuncs.com',
      'coding.dashscope.aliyuncs.com',
      ...providerHosts,
    ],
  },
};
