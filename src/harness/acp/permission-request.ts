import { posix } from 'node:path';
import { linksOnPath } from '../../process/which.ts';
import { isObject } from '../../text/shape.ts';
import { field, listAt, textAt } from '../json.ts';
import type { PermissionRequest } from '../permissions/decide.ts';
import { isBelow } from '../permissions/path-match.ts';
import type { ToolKind } from '../permissions/rule.ts';
import { permissionKind } from '../permissions/tool-kind.ts';
import { isFolder, mayHoldSecrets } from './folder-facts.ts';
import { commandsOf } from './input-commands.ts';
import { absoluteOf, namedPaths } from './input-paths.ts';
import { namedIn } from './tool-calls.ts';

/**
 * Reads what `session/request_permission` asks for. `announced` is the last `tool_call` or `tool_call_update` of the same
 * call, or null: some agents put the input only there, and the real kind. If both say something, both count. Resolves
 * links and `..` of all paths that the input names. `root` is the real path of the folder in which the agent works.
 */
export const permissionRequest = (toolCall: unknown, announced: unknown, root: string): PermissionRequest => {
  const calls = [toolCall, announced];
  const inputs = calls.map((call) => field(call, 'rawInput')).filter(isObject);
  const tool = toolOf(calls);
  const [kind, ...otherKinds] = kindsOf(calls, tool);
  const isSearch = [kind, ...otherKinds].some((each) => each === 'read' || each === 'search');
  const named = namedPaths(calls, { root, isSearch });
  const paths = [...new Set(named.paths.map(linksOf))];
  const normalized = named.paths.map((path) => posix.normalize(path));
  const folders = [...new Set([...paths, ...normalized])].filter(isFolder);
  const isRoot = (folder: string) => linksOf(absoluteOf(folder, root)) === root;
  const [command = null, ...otherCommands] = new Set(inputs.flatMap((input) => commandsOf(input, isRoot)));
  return {
    kind,
    otherKinds,
    tool: tool ?? kind,
    title: calls.map((call) => textAt(call, 'title')).find((each) => each) ?? '',
    paths,
    namedPaths: normalized,
    unclearPaths: named.unclear,
    folders,
    secretFolders: isSearch ? folders.filter((path) => isBelow(path, root) && mayHoldSecrets(path)) : [],
    command,
    otherCommands,
    url: inputs.map((input) => firstText(input, ['url', 'uri'])).find((each) => each !== null) ?? null,
  };
};

/** The strictest first. */
const kinds: readonly ToolKind[] = [
  'execute',
  'delete',
  'move',
  'edit',
  'fetch',
  'switch_mode',
  'search',
  'read',
  'think',
];

/** All that are said, the strictest first. A call with a diff edits a file. */
const kindsOf = (calls: readonly unknown[], tool: string | null): [ToolKind, ...ToolKind[]] => {
  const said = calls.map((call) => field(call, 'kind')).filter(isSpecific);
  const hasDiff = calls.some((call) => listAt(call, 'content').some((each) => field(each, 'type') === 'diff'));
  const changes = said.some((kind) => kind === 'edit' || kind === 'delete' || kind === 'move');
  const isKnown = (kind: ToolKind) => said.includes(kind) || (kind === 'edit' && hasDiff && !changes);
  const [first, ...others] = kinds.filter(isKnown);
  return first === undefined ? [unsaidKind(tool ?? '')] : [first, ...others];
};

/** Some agents do not say the kind of a tool. What only its name says never allows more: reading needs no rule. */
const unsaidKind = (tool: string): ToolKind => {
  const kind = permissionKind(tool);
  return kind === 'read' ? 'other' : kind;
};

const isSpecific = (kind: unknown): kind is ToolKind => kinds.some((each) => each === kind);

/** The file need not exist. Too many links give the root, which is in no project. */
const linksOf = (path: string): string => {
  const stations = linksOnPath(path);
  return stations.length > maxLinks ? '/' : stations.at(-1)!;
};

/** The limit of Linux. */
const maxLinks = 40;

const firstText = (input: Readonly<Record<string, unknown>>, keys: readonly string[]): string | null =>
  (keys.map((key) => input[key]).find((value) => typeof value === 'string' && value !== '') as string | null) ?? null;

/** A title may contain text of the model. */
const toolOf = (calls: readonly unknown[]): string | null => calls.map(namedIn).find((name) => name !== null) ?? null;
