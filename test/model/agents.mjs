// How each agent CLI is configured to talk only to the scripted model, with its own HOME.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * @typedef {object} Agent
 * @property {string} package on the npm registry
 * @property {string} version the tested version
 * @property {string} model the value of `--model`
 * @property {string} [node] the version of Node that it needs, if that of the tests may be too old
 * @property {(home: string, url: string) => Record<string, string>} prepare writes settings below home and returns variables
 */

/** @param {string} file @param {string} text */
const put = (file, text) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};

const key = 'sk-scripted-0123456789';

/** @param {string} home @param {string} url */
const prepareCodex = (home, url) => {
  put(
    join(home, '.codex', 'config.toml'),
    `model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "Scripted"
base_url = "${url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
`,
  );
  return { SCRIPTED_KEY: key };
};

/** @param {string} url */
const prepareClaude = (url) => ({
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: key,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  CLAUDE_CODE_MAX_RETRIES: '1',
});

/** @type {Record<string, Agent>} */
export const agents = {
  opencode: {
    package: 'opencode-ai',
    version: '1.18.33',
    model: 'scripted/model',
    prepare: (_, url) => ({
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        provider: {
          scripted: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Scripted',
            options: { baseURL: `${url}/v1`, apiKey: key },
            models: {
              model: { name: 'Scripted', limit: { context: 128000, output: 8000 }, cost: { input: 1, output: 2 } },
            },
          },
        },
      }),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    }),
  },
  claude: {
    package: '@anthropic-ai/claude-code',
    version: '2.1.325',
    model: 'scripted',
    prepare: (_, url) => prepareClaude(url),
  },
  codex: {
    package: '@openai/codex',
    version: '0.166.0',
    model: 'scripted',
    prepare: (home, url) => prepareCodex(home, url),
  },
  copilot: {
    package: '@github/copilot',
    version: '1.0.102',
    model: 'scripted',
    prepare: (_, url) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: key,
    }),
  },
  gemini: {
    package: '@google/gemini-cli',
    version: '0.61.0',
    model: 'scripted',
    prepare: (home, url) => {
      const settings = { general: { maxAttempts: 2 }, security: { auth: { selectedType: 'gemini-api-key' } } };
      put(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
      return { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: 'true' };
    },
  },
  pi: {
    package: '@mariozechner/pi-coding-agent',
    version: '0.73.1',
    model: 'scripted/model',
    prepare: (home, url) => {
      const model = {
        id: 'model',
        cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
        contextWindow: 128000,
        maxTokens: 8000,
      };
      const provider = { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: key, models: [model] };
      put(join(home, '.pi', 'agent', 'models.json'), JSON.stringify({ providers: { scripted: provider } }));
      return { PI_OFFLINE: '1' };
    },
  },
  qwen: {
    package: '@qwen-code/qwen-code',
    version: '0.24.4',
    model: 'scripted',
    prepare: (home, url) => {
      put(join(home, '.qwen', 'settings.json'), JSON.stringify({ security: { auth: { selectedType: 'openai' } } }));
      return { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/v1` };
    },
  },
  goose: {
    package: '@aaif/goose',
    version: '0.20.1',
    model: 'scripted',
    prepare: (_, url) => ({
      GOOSE_PROVIDER: 'openai',
      GOOSE_MODEL: 'scripted',
      GOOSE_DISABLE_KEYRING: '1',
      OPENAI_HOST: url,
      OPENAI_API_KEY: key,
    }),
  },
  'codex-acp': {
    package: '@agentclientprotocol/codex-acp',
    version: '2.6.0',
    model: 'scripted',
    prepare: (home, url) => prepareCodex(home, url),
  },
  'claude-agent-acp': {
    package: '@agentclientprotocol/claude-agent-acp',
    version: '0.99.1',
    node: '24.21.0',
    model: 'scripted',
    prepare: (_, url) => prepareClaude(url),
  },
};
