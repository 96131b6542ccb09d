import { posix } from 'node:path';
import { isShell } from '../../text/shell-names.ts';
import { commandLine } from '../../text/shell-words.ts';
import { hole } from '../../text/wildcard.ts';
import { asObject } from '../json.ts';
import { workFolderKeys } from './input-paths.ts';

type Input = Readonly<Record<string, unknown>>;

/**
 * Returns the texts that a shell would run for an input. If it would run elsewhere, or with other variables, a text
 * begins with that: `cd /tmp && npm test`. A text that is not known is a `hole`.
 */
export const commandsOf = (input: Input, isRoot: (folder: string) => boolean): string[] => {
  const commands = commandKeys.map((key) => input[key]).filter((each) => each !== undefined && each !== null);
  // Next to a command, some agents list the names of its programs there.
  const several = commands.length === 0 && Array.isArray(input.commands) ? input.commands : [];
  const setup = [...foldersOf(input, isRoot), ...variablesOf(input)];
  return [...commands, ...several].map((each) => [...setup, withArguments(textOf(each), input)].join(' && '));
};

const commandKeys = ['command', 'cmd', 'script', 'commandLine', 'command_line'];

const argumentKeys = ['args', 'arguments', 'argv'];

/** For commands also those that are paths for other tools. */
const folderKeys = [...workFolderKeys, 'dir', 'dirPath', 'dir_path', 'directory', 'folder'];

const variableKeys = ['env', 'envs', 'environment', 'env_vars', 'envVars', 'variables'];

const textOf = (given: unknown): string => {
  if (typeof given === 'string') return given;
  if (!isWords(given)) return hole;
  const [shell = '', flags = '', text] = given;
  return given.length === 3 && isShell(posix.basename(shell)) && /^-[a-z]*c$/.test(flags)
    ? text!
    : commandLine(...given);
};

const isWords = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((word) => typeof word === 'string');

const withArguments = (command: string, input: Input): string =>
  argumentKeys.reduce((text, key) => {
    const given = input[key] ?? [];
    if (typeof given === 'string') return given === '' ? text : `${text} ${given}`;
    if (!isWords(given)) return hole;
    return given.length === 0 ? text : `${text} ${commandLine(...given)}`;
  }, command);

const foldersOf = (input: Input, isRoot: (folder: string) => boolean): string[] =>
  folderKeys
    .map((key) => input[key] ?? '')
    .filter((folder) => folder !== '' && !(typeof folder === 'string' && isRoot(folder)))
    .map((folder) => `cd ${typeof folder === 'string' ? commandLine(folder) : hole}`);

const variablesOf = (input: Input): string[] =>
  variableKeys
    .map((key) => input[key] ?? '')
    .filter((given) => given !== '' && Object.keys(Object(given)).length > 0)
    .map((given) => {
      const name = Object.keys(asObject(given) ?? {}).find((each) => /^\w+$/.test(each)) ?? '_';
      return `${name}=''`;
    });
