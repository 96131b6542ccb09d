import { agentModes } from '../harness/agent-mode.ts';
import { configKeys, defaultOf, type Flag, flags, isNegated } from './flags.ts';
import { defaultFolders } from '../changes/folders.ts';
import { notifyKinds } from './notify-targets.ts';
import { rulePattern } from '../harness/permissions/rule.ts';
import type { ValueKind } from './values.ts';

/** The JSON schema of .spool/config.json; scripts/build.mjs writes it into the package. */
export const configSchema = () => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Spool: .spool/config.json',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    ...settings(),
    worktree: {
      type: 'object',
      additionalProperties: false,
      properties: { setup: { type: 'string', minLength: 1, description: flags.worktreeSetup.help } },
    },
    env: {
      type: 'object',
      additionalProperties: false,
      required: ['pass'],
      properties: {
        pass: {
          type: 'array',
          items: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]{0,200}\\*?$' },
          description:
            'Variables passed to agents, commands and hooks, such as "CI" or "AWS_*"; a few are always passed',
        },
      },
    },
    sources: {
      type: 'object',
      description: 'Folders of other tools that have changes, if they are not the default ones',
      additionalProperties: false,
      properties: Object.fromEntries(
        Object.entries(defaultFolders)
          .filter(([name]) => name !== 'spool')
          .map(([name, { folder }]) => [name, { type: 'string', minLength: 1, default: folder }]),
      ),
    },
    permissions: {
      type: 'object',
      additionalProperties: false,
      description: 'What agents may do, for all changes; deny wins over allow',
      properties: {
        allow: { ...rules, description: `${flags.allow.help}; counts once you trust it` },
        deny: { ...rules, description: flags.deny.help },
      },
    },
    queue: {
      type: 'string',
      pattern: '^postgres(ql)?://([^:@/?]*@)?[^@]*$',
      description: 'Postgres database of the queue, without a password; counts once you trust it',
    },
    changes: {
      type: 'object',
      description: 'Settings for single changes, by change ID',
      additionalProperties: { type: 'object', additionalProperties: false, properties: sameSettings() },
    },
    harnesses: { type: 'object', description: 'Custom agents, by name', additionalProperties: customHarness },
  },
});

const settings = () => Object.fromEntries(configKeys.map((name) => [name, property(flags[name])]));

const sameSettings = () => Object.fromEntries(configKeys.map((name) => [name, { $ref: `#/properties/${name}` }]));

const texts = { type: 'array', items: { type: 'string' } };

const customHarness = {
  type: 'object',
  additionalProperties: false,
  required: ['command'],
  properties: {
    command: {
      type: 'string',
      minLength: 1,
      description: 'Program on PATH, or a file of the project if it contains a slash',
    },
    protocol: {
      enum: ['cli', 'acp'],
      default: 'cli',
      description: '"acp" for an agent that speaks the Agent Client Protocol on stdin and stdout',
    },
    args: { ...texts, description: 'May contain {model}, {prompt} and {promptFile} with the protocol "cli"' },
    env: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Variables that it gets, with the protocol "acp"',
    },
    modelOption: {
      type: 'string',
      minLength: 1,
      description: 'ID of its option for the model, with the protocol "acp"',
    },
    mode: { type: 'string', minLength: 1, description: 'ID of the mode of its sessions, with the protocol "acp"' },
    allowAllArgs: { ...texts, description: 'Added with --allow-all' },
    prompt: { enum: ['stdin', 'argument', 'file'], default: 'stdin' },
    decoder: { type: 'string', default: 'plain', description: '"plain", or the harness whose output format it uses' },
    trailer: {
      type: 'array',
      items: { type: 'string', pattern: '\\S' },
      description: 'Prefixes of lines that the CLI prints after the message of the agent, with the decoder "plain"',
    },
    install: { type: 'string', description: 'How to install it' },
  },
};

const property = (flag: Flag) => ({
  ...shapes[flag.kind],
  description: isNegated(flag) ? `false: ${flag.help}` : flag.help,
  default: defaultJson(flag),
});

/** JSON has numbers. A setting without a default has none in the schema either. */
const defaultJson = (flag: Flag) => {
  const written = defaultOf(flag) ?? undefined;
  return typeof written === 'string' && /^\d+$/.test(written) ? Number(written) : written;
};

/** A name with an optional model. */
const agent = '\\s*[^\\s:,-][^:,]*(:\\s*([^\\s,-][^,]*)?)?';

const aboveZero = '^(?=[\\d.]*[1-9])\\d+(\\.\\d+)?(ms|s|m|h|d)$';

const event = { enum: notifyKinds };

const count = { type: 'integer', minimum: 1 };

const rules = { type: 'array', items: { type: 'string', pattern: rulePattern } };

const shapes: Record<ValueKind, object> = {
  text: { type: 'string', pattern: '^[^\\x00]*[^\\s\\x00][^\\x00]*$' },
  name: { type: 'string', pattern: '^\\s*[^\\s-]' },
  agents: { type: 'string', pattern: `^${agent}(,${agent})*$` },
  ladder: { type: 'string', pattern: `^${agent}(,${agent})+$` },
  line: { type: 'string', pattern: '^[^<>\\x00-\\x1f]*\\S[^<>\\x00-\\x1f]*$' },
  count,
  'count-or-unlimited': { anyOf: [count, { type: 'string', pattern: '^(\\d+(\\.\\d+)?[kKmM]?|unlimited)$' }] },
  'money-or-unlimited': {
    anyOf: [
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'string', pattern: '^(\\$?\\d+(\\.\\d+)?|unlimited)$' },
    ],
  },
  duration: { type: 'string', pattern: '^\\d+(\\.\\d+)?(ms|s|m|h|d)$' },
  'duration-or-unlimited': { type: 'string', pattern: '^(\\d+(\\.\\d+)?(ms|s|m|h|d)|unlimited)$' },
  'duration-above-zero': { type: 'string', pattern: aboveZero },
  'duration-above-zero-or-unlimited': { type: 'string', pattern: `${aboveZero}|^unlimited$` },
  'time-of-day': { type: 'string', pattern: '^([01]?\\d|2[0-3]):[0-5]\\d$' },
  'agent-mode': { enum: agentModes },
  names: { anyOf: [{ type: 'string', minLength: 1 }, texts] },
  events: {
    anyOf: [
      { type: 'string', minLength: 1 },
      { type: 'array', items: event },
    ],
  },
  commands: { anyOf: [{ type: 'string', minLength: 1 }, texts] },
  notifications: { anyOf: [{ type: 'string', minLength: 1 }, texts] },
  rules,
  boolean: { type: 'boolean' },
};
