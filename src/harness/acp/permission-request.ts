import { isAbsolute, join, posix } from 'node:path';
import { homeOf } from '../../files/home.ts';
import { currentScope } from '../../process/scope.ts';
import { linksOnPath } from '../../process/which.ts';
import { commandLine } from '../../text/shell-words.ts';
import { isObject } from '../../text/shape.ts';
import { field, listAt, textAt } from '../json.ts';
import type { ToolKind } from '../permissions/rule.ts';
import { permissionKind } from '../permissions/tool-kind.ts';
import { isShell } from '../../text/shell-names.ts';
import type { PermissionRequest } from '../permissions/decide.ts';
import { isBelow } from '../permissions/path-match.ts';
import { isFolder, mayHoldSecrets } from './folder-facts.ts';
import { namedIn } from './tool-calls.ts';

/**
 * Reads what `session/request_permission` asks for. `announced` is the last `tool_call` or `tool_call_update` of the same
 * call, or null: some agents put the input only there, and the real kind. Resolves links and `..` of all paths that the
 * input names. `root` is the real path of the folder in which the agent works.
 */
export const permissionRequest = (toolCall: unknown, announced: unknown, root: string): PermissionRequest => {
  const calls = [toolCall, announced];
  const inputs = calls.map((call) => field(call, 'rawInput')).filter(isObject);
  const tool = toolOf(calls);
  const kind = calls.map((call) => field(call, 'kind')).find(isSpecific) ?? unsaidKind(tool ?? '');
  const named = [...new Set(calls.flatMap(pathsOfCall).concat(inputs.flatMap((input) => pathsOfInput(input))))];
  const absolute = named.map((path) => absoluteOf(path, root));
  const command = inputs.map(commandOf).find((each) => each !== null) ?? null;
  const folder = inputs.map((input) => firstText(input, workFolderKeys)).find((each) => each !== null) ?? null;
  const isInRoot = folder === null || linksOf(absoluteOf(folder, root)) === root;
  const paths = [...new Set(absolute.map(linksOf))];
  const namedPaths = absolute.map((path) => posix.normalize(path));
  const folders = [...new Set([...paths, ...namedPaths])].filter(isFolder);
  const reads = kind === 'read' || kind === 'search';
  return {
    kind,
    tool: tool ?? kind,
    title: calls.map((call) => textAt(call, 'title')).find((each) => each) ?? '',
    paths,
    namedPaths,
    folders,
    secretFolders: reads ? folders.filter((path) => isBelow(path, root) && mayHoldSecrets(path)) : [],
    // As if the text began with it: the rules for commands apply to the folder of the project.
    command: command === null || isInRoot ? command : `cd ${commandLine(folder)} && ${command}`,
    url: inputs.map((input) => firstText(input, ['url', 'uri'])).find((each) => each !== null) ?? null,
  };
};

const kinds: readonly ToolKind[] = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
];

/** Some agents do not say the kind of a tool. What only its name says never allows more: reading needs no rule. */
const unsaidKind = (tool: string): ToolKind => {
  const kind = permissionKind(tool);
  return kind === 'read' ? 'other' : kind;
};

const isSpecific = (kind: unknown): kind is ToolKind => kinds.some((each) => each === kind);

const workFolderKeys = ['cwd', 'workdir', 'working_directory', 'workingDirectory'];

/** The files that the agent says it works on, and those of its diffs. */
const pathsOfCall = (call: unknown): string[] =>
  [...listAt(call, 'locations'), ...listAt(call, 'content')].flatMap((each) => textAt(each, 'path') ?? []);

const pathKey = /path|^file|file$|files$|^dir|directory|folder|^source$|^destination$|^target$/i;

const pathsOfInput = (input: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(input)
    .filter(([key]) => pathKey.test(key) && !workFolderKeys.includes(key))
    .flatMap(([, value]) => (Array.isArray(value) ? value : [value]))
    .filter((value) => typeof value === 'string' && value !== '' && !value.includes('\0'))
    .map(String);

const absoluteOf = (path: string, root: string): string => {
  const plain = path.replace(/^file:\/\//, '');
  if (plain === '~' || plain.startsWith('~/')) return join(homeOf(currentScope().env), plain.slice(1));
  // Not normalised: ".." after a link leads out of its target.
  return isAbsolute(plain) ? plain : `${root}/${plain}`;
};

/** Applies to a file that does not exist yet. Too many links lead nowhere; the root is in no project. */
const linksOf = (path: string): string => {
  const stations = linksOnPath(path);
  return stations.length > maxLinks ? '/' : stations.at(-1)!;
};

/** The limit of Linux. */
const maxLinks = 40;

const commandOf = (input: Readonly<Record<string, unknown>>): string | null => {
  const given = input.command ?? input.cmd ?? input.script;
  if (typeof given === 'string') return given;
  if (!Array.isArray(given) || !given.every((word) => typeof word === 'string')) return null;
  const [shell = '', flags = '', text] = given;
  return given.length === 3 && isShell(posix.basename(shell)) && /^-[a-z]*c$/.test(flags)
    ? text!
    : commandLine(...given);
};

const firstText = (input: Readonly<Record<string, unknown>>, keys: readonly string[]): string | null =>
  (keys.map((key) => input[key]).find((value) => typeof value === 'string' && value !== '') as string | null) ?? null;

/** A title may contain text of the model. */
const toolOf = (calls: readonly unknown[]): string | null => calls.map(namedIn).find((name) => name !== null) ?? null;
