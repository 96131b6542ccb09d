import { resolve } from 'node:path';
import { userError } from '../errors.ts';
import { isName } from '../text/names.ts';
import type { Decoder, Harness } from '../harness/harness.ts';
import { field, textAt } from '../harness/json.ts';

interface ConfigFile {
  /** The folder of the project. */
  readonly root: string;
  /** How the file is called in messages. */
  readonly file: string;
}

/** Turns what `harnesses` in .spool/config.json declares into harnesses; they may use the decoders of the known ones. */
export const readCustomHarnesses = (
  declared: unknown,
  known: readonly Harness[],
  { root, file }: ConfigFile,
): Harness[] => {
  if (typeof declared !== 'object' || declared === null || Array.isArray(declared))
    throw userError('bad-config', file, '"harnesses" takes an object: a name, and what to run, for each');
  return Object.entries(declared).map(([name, value]) => {
    const where = `"harnesses.${name}"`;
    const bad = (problem: string) => userError('bad-config', file, `${where} ${problem}`);
    if (known.some((harness) => harness.name === name)) throw bad('is built in; choose another name');
    if (!/^[^\s:,]+$/.test(name)) throw bad('has a name with a blank, a colon or a comma in it, or none');
    const alike = namesAlike(name, known, Object.keys(declared));
    if (alike !== null) throw bad(`reads like "${alike}"; choose another name`);
    if (!isName(name) || /\p{C}/u.test(name)) throw bad('has a name that starts with "-" or holds what cannot be seen');
    if (/[^\x20-\x7e]/.test(name)) throw bad('has a name with letters that are not plain ASCII');
    return ownHarness(name, value, { root, known, bad });
  });
};

/** The name or title of another agent for which a person could take this one; null when there is none. */
const namesAlike = (name: string, known: readonly Harness[], declared: readonly string[]): string | null => {
  const others = [
    ...known.flatMap((harness) => [harness.name, harness.title]),
    ...declared.filter((one) => one !== name),
  ];
  return others.find((other) => skeleton(other) === skeleton(name)) ?? null;
};

/** What is left of a name for a quick reader: no capitals, wide or invisible characters, blanks or dashes. */
const skeleton = (name: string): string =>
  name
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

const keys = ['command', 'args', 'allowAllArgs', 'prompt', 'decoder', 'trailer', 'install'];

interface Declaring {
  readonly root: string;
  readonly known: readonly Harness[];
  readonly bad: (problem: string) => Error;
}

const ownHarness = (name: string, value: unknown, { root, known, bad }: Declaring): Harness => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('takes an object');
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown) throw bad(`has an unknown key "${unknown}". Keys: ${keys.join(', ')}`);
  const command = textAt(value, 'command');
  if (!command) throw bad('needs a "command"');
  const args = texts(field(value, 'args'), () => bad('takes a list of texts as "args"'));
  const allowAllArgs = texts(field(value, 'allowAllArgs'), () => bad('takes a list of texts as "allowAllArgs"'));
  const trailer = texts(field(value, 'trailer'), () => bad('takes a list of texts as "trailer"'));
  if (trailer.some((start) => start.trim() === ''))
    throw bad('has a blank text in its "trailer": every line begins so');
  const place = field(value, 'prompt') ?? 'stdin';
  if (place !== 'stdin' && place !== 'argument' && place !== 'file')
    throw bad('takes "stdin", "argument" or "file" as "prompt"');
  const placeholder = { stdin: null, argument: '{prompt}', file: '{promptFile}' }[place];
  if (placeholder && !args.some((arg) => arg.includes(placeholder)))
    throw bad(`needs "${placeholder}" among its "args"`);
  if (args.some((arg) => arg.includes('{model}') && /\{prompt(File)?\}/.test(arg)))
    throw bad(
      'has "{model}" and the prompt in one of its "args": without --model the prompt would be left out with it',
    );
  return {
    name,
    title: name,
    // With a slash in it, it is a file of the project; otherwise it is looked up on PATH.
    binary: /[\\/]/.test(command) ? resolve(root, command) : command,
    install: textAt(value, 'install') ?? 'however it is installed',
    capabilities: reportsOf(field(value, 'decoder'), known),
    custom: { command, args, allowAllArgs },
    ...(args.some((arg) => arg.includes('{model}')) ? {} : { choosesOwnModel: true }),
    ...(place === 'stdin' ? {} : { prompt: place }),
    ...(trailer.length === 0 ? {} : { trailer: trailer.map((start) => start.trim()) }),
    args: (job) => [
      ...(job.model === null ? withoutModel(args) : args).map((arg) =>
        arg
          .replaceAll('{model}', () => job.model ?? '')
          .replaceAll('{promptFile}', () => job.promptFile)
          .replaceAll('{prompt}', () => job.prompt),
      ),
      ...(job.allowAll ? allowAllArgs : []),
    ],
    decoder: decoderOf(field(value, 'decoder') ?? 'plain', known, bad),
  };
};

const reportsOf = (decoder: unknown, known: readonly Harness[]): Harness['capabilities'] =>
  known.find(({ name }) => name === decoder)?.capabilities ?? ['text'];

const texts = (value: unknown, problem: () => Error): string[] => {
  if (value === undefined) return [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) throw problem();
  return value;
};

/** Leaves out what mentions the model, and the flag before it. */
const withoutModel = (args: readonly string[]): string[] =>
  args.filter(
    (arg, index) => !arg.includes('{model}') && !(arg.startsWith('-') && args[index + 1]?.includes('{model}')),
  );

const decoderOf = (name: unknown, known: readonly Harness[], bad: (problem: string) => Error): Harness['decoder'] => {
  if (name === 'plain') return () => plainDecoder;
  const harness = known.find((candidate) => candidate.name === name);
  if (!harness)
    throw bad(`takes "plain" or the name of a harness as "decoder": ${known.map((one) => one.name).join(', ')}`);
  return harness.decoder;
};

const plainDecoder: Decoder = { stdout: () => null, end: () => [] };
