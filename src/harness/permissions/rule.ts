import { closest } from '../../text/closest.ts';
import { hasControls } from '../../text/names.ts';

/** What an agent asks for, in the words of the Agent Client Protocol. */
export type ToolKind =
  'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'switch_mode' | 'other';

/** A rule of `permissions.allow` or `permissions.deny`: `Bash(npm test:*)`, `Edit(src/**)`, `mcp__github__*`. */
export type PermissionRule =
  | { readonly type: 'paths'; readonly text: string; readonly name: PathRuleName; readonly pattern: string | null }
  | { readonly type: 'command'; readonly text: string; readonly pattern: string | null }
  /** `pattern` is a host, without `domain:`. */
  | { readonly type: 'fetch'; readonly text: string; readonly pattern: string | null }
  | { readonly type: 'tool'; readonly text: string; readonly pattern: string };

type PathRuleName = keyof typeof pathRules;

export interface PermissionRules {
  readonly allow: readonly PermissionRule[];
  readonly deny: readonly PermissionRule[];
}

/** The kinds that a rule is about. */
export const pathRules = {
  Read: ['read', 'search'],
  Edit: ['edit', 'delete', 'move'],
  Delete: ['delete'],
  Move: ['move'],
} as const satisfies Record<string, readonly ToolKind[]>;

/** Parses a rule. Returns what is wrong with it as a text. */
export const parseRule = (text: string): PermissionRule | string => {
  if (text.length > maxRule || hasControls(text)) return 'must be one line of at most 1000 characters';
  const [, name, pattern = null] = /^(\w[\w.*-]*)(?:\((.*)\))?$/.exec(text) ?? [];
  if (name === undefined)
    return `must be a name such as ${names.join(', ')}, with an optional pattern: Bash(npm test:*)`;
  if (pattern !== null && pattern.trim() === '') return `has an empty pattern; write ${name} for everything`;
  if (name in pathRules) return pathRule(text, name as PathRuleName, pattern);
  if (name === 'Bash') return pattern === null ? { type: 'command', text, pattern } : commandRule(text, pattern);
  if (name === 'WebFetch') return fetchRule(text, pattern);
  if (name === 'Tool')
    return pattern === null ? 'needs the name of a tool: Tool(name)' : { type: 'tool', text, pattern };
  if (name.startsWith('mcp__'))
    return pattern === null ? { type: 'tool', text, pattern: name } : 'must not have a pattern';
  const near = otherNames[name] ?? closest(name, names);
  return near ? `has an unknown name "${name}" (did you mean "${near}"?)` : `has an unknown name "${name}"; ${known}`;
};

/** The form of a rule in a JSON schema. `parseRule` also checks the pattern. */
export const rulePattern =
  '^(Read|Edit|Delete|Move|Bash)(\\(.*\\S.*\\))?$|^WebFetch(\\(domain:.+\\))?$|^Tool\\(.+\\)$|^mcp__[\\w.*-]*$';

/** Parses rules that are known to be valid. */
export const rulesOf = ({ allow, deny }: RuleTexts): PermissionRules => ({ allow: parsed(allow), deny: parsed(deny) });

interface RuleTexts {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

const parsed = (texts: readonly string[]): PermissionRule[] =>
  texts.map(parseRule).filter((rule) => typeof rule !== 'string');

const maxRule = 1000;

const names = [...Object.keys(pathRules), 'Bash', 'WebFetch', 'Tool'];
const known = `names: ${names.join(', ')}, mcp__<server>__<tool>`;

/** Names that agents use for the same. */
const otherNames: Readonly<Record<string, string>> = {
  Write: 'Edit',
  MultiEdit: 'Edit',
  NotebookEdit: 'Edit',
  Glob: 'Read',
  Grep: 'Read',
  LS: 'Read',
  Shell: 'Bash',
  shell: 'Bash',
  WebSearch: 'Tool(WebSearch)',
};

const pathRule = (text: string, name: PathRuleName, pattern: string | null): PermissionRule | string => {
  if (pattern === null) return { type: 'paths', text, name, pattern };
  if (/^\/(?!\/)/.test(pattern))
    return `is ambiguous: write ${name}(${pattern.slice(1)}) for the project, or ${name}(/${pattern}) for the root of the file system`;
  if (pattern.startsWith('!')) return 'must not start with "!": add a rule to the other list instead';
  if (/^[A-Za-z]:|\\/.test(pattern))
    return 'must be a path with "/", relative to the project, or starting with "~/" or "//"';
  if (pattern.split('/').includes('..')) return 'must not contain ".."';
  return { type: 'paths', text, name, pattern };
};

const commandRule = (text: string, pattern: string): PermissionRule | string =>
  pattern.trim() === '*'
    ? { type: 'command', text, pattern: null }
    : { type: 'command', text, pattern: pattern.trim() };

const fetchRule = (text: string, pattern: string | null): PermissionRule | string => {
  if (pattern === null) return { type: 'fetch', text, pattern };
  const [, host] = /^domain:((?:\*\.)?[\w.-]+)$/.exec(pattern) ?? [];
  return host === undefined
    ? 'must name a host: WebFetch(domain:example.com) or WebFetch(domain:*.example.com)'
    : { type: 'fetch', text, pattern: host.toLowerCase() };
};
