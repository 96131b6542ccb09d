import { resolve } from 'node:path';
import { userError } from '../errors.ts';
import { hasNul, isName } from '../text/names.ts';
import { createAcpDecoder } from '../harness/acp/decoder.ts';
import type { Decoder, Harness } from '../harness/harness.ts';
import { field, textAt } from '../harness/json.ts';

interface ConfigFile {
  /** The folder of the project. */
  readonly root: string;
  /** The name of the file in messages. */
  readonly file: string;
}

/** Parses `harnesses` in .spool/config.json. A custom harness may use the decoder of a known one. */
export const readCustomHarnesses = (
  declared: unknown,
  known: readonly Harness[],
  { root, file }: ConfigFile,
): Harness[] => {
  if (typeof declared !== 'object' || declared === null || Array.isArray(declared))
    throw userError('bad-config', file, '"harnesses" must be an object that maps names to what to run');
  return Object.entries(declared).map(([name, value]) => {
    const where = `"harnesses.${name}"`;
    const bad = (problem: string) => userError('bad-config', file, `${where} ${problem}`);
    if (known.some((harness) => harness.name === name)) throw bad('is built in; choose another name');
    if (!/^[^\s:,]+$/.test(name)) throw bad('must have a name without spaces, colons and commas');
    const alike = lookalikeOf(name, known, Object.keys(declared));
    if (alike !== null) throw bad(`looks like "${alike}"; choose another name`);
    if (!isName(name) || /\p{C}/u.test(name))
      throw bad('must not have a name that starts with "-" or contains invisible characters');
    if (/[^\x20-\x7e]/.test(name)) throw bad('must have a name of ASCII characters');
    return customHarness(name, value, { root, known, bad });
  });
};

/** Returns the name or title of another agent that this name could be mistaken for, or null. */
const lookalikeOf = (name: string, known: readonly Harness[], declared: readonly string[]): string | null => {
  const others = [
    ...known.flatMap((harness) => [harness.name, harness.title]),
    ...declared.filter((one) => one !== name),
  ];
  return others.find((other) => skeleton(other) === skeleton(name)) ?? null;
};

/** Removes what a quick reader overlooks: case, width, invisible characters, spaces and dashes. */
const skeleton = (name: string): string =>
  name
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

const commonKeys = ['command', 'args', 'install', 'protocol'];
/** For agents that are started with a prompt, and for those that speak ACP. */
const cliKeys = ['allowAllArgs', 'prompt', 'decoder', 'trailer'];
const acpKeys = ['env', 'modelOption', 'mode'];

interface Declaration {
  readonly root: string;
  readonly known: readonly Harness[];
  readonly bad: (problem: string) => Error;
}

const customHarness = (name: string, value: unknown, { root, known, bad }: Declaration): Harness => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('must be an object');
  const protocol = field(value, 'protocol') ?? 'cli';
  if (protocol !== 'cli' && protocol !== 'acp') throw bad('must have "cli" or "acp" as "protocol"');
  const keys = [...commonKeys, ...(protocol === 'acp' ? acpKeys : cliKeys)];
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown) throw bad(`has an unknown key "${unknown}". Keys: ${keys.join(', ')}`);
  const command = textAt(value, 'command');
  if (!command) throw bad('needs a "command"');
  const args = texts(value, 'args', bad);
  const common = {
    name,
    title: name,
    install: textAt(value, 'install') ?? 'see its documentation',
    // A command with a slash is a file of the project; others are looked up on PATH.
    binary: /[\\/]/.test(command) ? resolve(root, command) : command,
    command,
    args,
  };
  if (protocol === 'acp') return acpHarness(value, common, bad);
  const allowAllArgs = texts(value, 'allowAllArgs', bad);
  if ([command, ...args, ...allowAllArgs].some(hasNul)) throw bad('has a NUL character in "command" or its arguments');
  const trailer = texts(value, 'trailer', bad);
  if (trailer.some((start) => start.trim() === ''))
    throw bad('has an empty text in "trailer", which would match every line');
  const promptVia = field(value, 'prompt') ?? 'stdin';
  if (promptVia !== 'stdin' && promptVia !== 'argument' && promptVia !== 'file')
    throw bad('must have "stdin", "argument" or "file" as "prompt"');
  const placeholder = { stdin: null, argument: '{prompt}', file: '{promptFile}' }[promptVia];
  if (placeholder && !args.some((arg) => arg.includes(placeholder))) throw bad(`needs "${placeholder}" in "args"`);
  if (args.some((arg) => arg.includes('{model}') && /\{prompt(File)?\}/.test(arg)))
    throw bad('has "{model}" and the prompt in the same argument, so the prompt would be dropped without --model');
  return {
    name,
    title: name,
    install: common.install,
    launch: {
      binary: common.binary,
      args: (job) => [
        ...(job.model === null ? withoutModel(args) : args).map((arg) =>
          arg
            .replaceAll('{model}', () => job.model ?? '')
            .replaceAll('{promptFile}', () => job.promptFile)
            .replaceAll('{prompt}', () => job.prompt),
        ),
        ...(job.allowAll ? allowAllArgs : []),
      ],
      ...(promptVia === 'stdin' ? {} : { promptVia }),
      ...(args.some((arg) => arg.includes('{model}')) ? {} : { choosesOwnModel: true }),
    },
    output: {
      decoder: decoderOf(field(value, 'decoder') ?? 'plain', known, bad),
      ...(trailer.length === 0 ? {} : { trailer: trailer.map((start) => start.trim()) }),
    },
    capabilities: capabilitiesOf(field(value, 'decoder'), known),
    custom: { command, args, allowAllArgs },
  };
};

interface CommonFields {
  readonly name: string;
  readonly title: string;
  readonly install: string;
  readonly binary: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** An agent that speaks ACP. Nothing is known of it, so each iteration gets a process unless the user wants another mode. */
const acpHarness = (
  value: unknown,
  { command, args, binary, ...names }: CommonFields,
  bad: Declaration['bad'],
): Harness => {
  const env = variables(value, bad);
  const [modelOption, sessionMode] = ['modelOption', 'mode'].map((key) => {
    const given = field(value, key);
    if (given !== undefined && (typeof given !== 'string' || !isName(given))) throw bad(`must have a name as "${key}"`);
    return given as string | undefined;
  });
  if ([command, ...args, ...Object.values(env)].some(hasNul))
    throw bad('has a NUL character in "command", its arguments or "env"');
  if (args.some((arg) => /\{(?:model|prompt|promptFile)\}/.test(arg)))
    throw bad('must not have "{model}" or the prompt in "args": both are sent by the protocol');
  return {
    ...names,
    launch: { binary, args: () => [...args] },
    output: { decoder: createAcpDecoder },
    acp: {
      only: true,
      defaultMode: 'cold',
      start: () => ({ args, env }),
      readAtStart: () => instructionFiles,
      ...(modelOption && { modelOption }),
      ...(sessionMode && { sessionMode }),
    },
    capabilities: ['text', 'tools', 'denials'],
    custom: {
      command,
      args,
      allowAllArgs: [],
      acp: { env, modelOption: modelOption ?? null, mode: sessionMode ?? null },
    },
  };
};

/** Some agents read these only when they start. */
const instructionFiles = ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md', 'QWEN.md', '.github/copilot-instructions.md'];

const variables = (value: unknown, bad: Declaration['bad']): Record<string, string> => {
  const env = field(value, 'env') ?? {};
  const isMap = typeof env === 'object' && env !== null && !Array.isArray(env);
  if (!isMap || Object.entries(env).some(([name, text]) => !/^[A-Za-z_]\w*$/.test(name) || typeof text !== 'string'))
    throw bad('must have an object with variables and their texts as "env"');
  const own = Object.keys(env).find((name) => name.startsWith('SPOOL_'));
  if (own !== undefined) throw bad(`must not set ${own} in "env"`);
  return env as Record<string, string>;
};

const capabilitiesOf = (decoder: unknown, known: readonly Harness[]): Harness['capabilities'] =>
  known.find(({ name }) => name === decoder)?.capabilities ?? ['text'];

const texts = (value: unknown, key: string, bad: Declaration['bad']): string[] => {
  const list = field(value, key);
  if (list === undefined) return [];
  if (!Array.isArray(list) || !list.every((item) => typeof item === 'string'))
    throw bad(`must have a list of texts as "${key}"`);
  return list;
};

/** Drops the arguments that contain the model, and the flag before each. */
const withoutModel = (args: readonly string[]): string[] =>
  args.filter(
    (arg, index) => !arg.includes('{model}') && !(arg.startsWith('-') && args[index + 1]?.includes('{model}')),
  );

const decoderOf = (name: unknown, known: readonly Harness[], bad: Declaration['bad']): Harness['output']['decoder'] => {
  if (name === 'plain') return () => plainDecoder;
  // The others have no output of a CLI.
  const usable = known.filter(({ acp }) => !acp?.only);
  const harness = usable.find((candidate) => candidate.name === name);
  if (!harness)
    throw bad(`must have "plain" or the name of a harness as "decoder": ${usable.map((one) => one.name).join(', ')}`);
  return harness.output.decoder;
};

const plainDecoder: Decoder = { stdout: () => null, end: () => [] };
