import { configKeys, type Flag, flags } from './flags.ts';
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
          description: 'variables that reach agents, commands and hooks besides a few that always do: "CI", "AWS_*"',
        },
      },
    },
    changes: {
      type: 'object',
      description: 'settings for single changes, by their ids',
      additionalProperties: { type: 'object', additionalProperties: false, properties: settings() },
    },
    harnesses: { type: 'object', description: 'agents of your own, by name', additionalProperties: ownHarness },
  },
});

const settings = () => Object.fromEntries(configKeys.map((name) => [name, property(flags[name])]));

const texts = { type: 'array', items: { type: 'string' } };

const ownHarness = {
  type: 'object',
  additionalProperties: false,
  required: ['command'],
  properties: {
    command: {
      type: 'string',
      minLength: 1,
      description: 'looked up on PATH, or a file of the project when it has a slash in it',
    },
    args: { ...texts, description: 'may hold {model}, {prompt} and {promptFile}' },
    allowAllArgs: { ...texts, description: 'added with --allow-all' },
    prompt: { enum: ['stdin', 'argument', 'file'], default: 'stdin' },
    decoder: { type: 'string', default: 'plain', description: '"plain", or the harness whose output it prints' },
    trailer: {
      type: 'array',
      items: { type: 'string', pattern: '\\S' },
      description: 'how lines begin that the CLI itself prints after the words of the agent, with the decoder "plain"',
    },
    install: { type: 'string', description: 'how to install it' },
  },
};

const property = (flag: Flag) => ({
  ...shapes[flag.kind],
  description: flag.on ? `false: ${flag.help}` : flag.help,
  default: defaultOf(flag),
});

const defaultOf = (flag: Flag) => {
  if (flag.kind === 'switch') return flag.on ?? false;
  if (flag.kind === 'commands' || flag.kind === 'names') return [];
  return flag.kind === 'count' || /^\d+$/.test(flag.fallback ?? '') ? Number(flag.fallback) : flag.fallback;
};

/** A name, and maybe a model. */
const agent = '\\s*[^\\s:,-][^:,]*(:\\s*([^\\s,-][^,]*)?)?';

const count = { type: 'integer', minimum: 1 };

const shapes: Record<ValueKind, object> = {
  text: { type: 'string', minLength: 1 },
  name: { type: 'string', pattern: '^\\s*[^\\s-]' },
  agents: { type: 'string', pattern: `^${agent}(,${agent})*$` },
  word: { type: 'string', pattern: '^[^<>\\x00-\\x1f]*\\S[^<>\\x00-\\x1f]*$' },
  count,
  limit: { anyOf: [count, { type: 'string', pattern: '^(\\d+(\\.\\d+)?[kKmM]?|unlimited)$' }] },
  money: {
    anyOf: [
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'string', pattern: '^(\\$?\\d+(\\.\\d+)?|unlimited)$' },
    ],
  },
  duration: { type: 'string', pattern: '^\\d+(\\.\\d+)?(ms|s|m|h|d)$' },
  span: { type: 'string', pattern: '^(\\d+(\\.\\d+)?(ms|s|m|h|d)|unlimited)$' },
  clock: { type: 'string', pattern: '^([01]?\\d|2[0-3]):[0-5]\\d$' },
  names: texts,
  commands: { anyOf: [{ type: 'string', minLength: 1 }, texts] },
  switch: { type: 'boolean' },
};
