import { hole, matches, mayMatch } from '../../text/wildcard.ts';
import { isBelow, mayMatchIn, pathMatches, type Roots } from './path-match.ts';
import { withNested } from './nested-commands.ts';
import { parseShell, type RunCommand, type ShellText, textOf } from './shell.ts';
import { type PermissionRule, type PermissionRules, pathRules, type ToolKind } from './rule.ts';

export interface PermissionRequest {
  readonly kind: ToolKind;
  /** Other kinds that the agent says it has. It is allowed only if it is allowed as each of them. */
  readonly otherKinds?: readonly ToolKind[];
  /** The name of the tool; never text of the model. */
  readonly tool: string;
  /** For messages only. It may contain text of the model, so nothing is decided by it. */
  readonly title: string;
  /** Absolute, with `..` and all links resolved: `permissionRequest` does that. */
  readonly paths: readonly string[];
  /** The same paths before their links were resolved. Deny rules are checked against both. */
  readonly namedPaths?: readonly string[];
  /** Why the request may be about further files; null if it is not. */
  readonly unclearPaths?: string | null;
  /** Those of the paths that are folders. A deny rule for something in a folder also denies what is done with the folder. */
  readonly folders?: readonly string[];
  /** Those of the folders that contain a file that is not read without a rule. */
  readonly secretFolders?: readonly string[];
  /** The text that a shell would run; null if it is not a command. */
  readonly command: string | null;
  /** Further texts. All must be allowed. */
  readonly otherCommands?: readonly string[];
  /** The address that would be fetched; null if it is unknown. */
  readonly url?: string | null;
}

export interface PermissionPolicy extends Roots, PermissionRules {
  /** Everything is allowed that no rule denies. */
  readonly allowAll: boolean;
}

export interface PermissionDecision {
  readonly outcome: 'allow' | 'deny';
  /** The rule of the user that decided; null for the default. */
  readonly rule: string | null;
  /** One sentence without a full stop. */
  readonly reason: string;
  /** The rule that would allow it; null if a deny rule forbids it, or it is allowed. */
  readonly suggestion: string | null;
}

/** Decides about one request. Deny rules win. Pure: the caller resolves links. */
export const decidePermission = (request: PermissionRequest, policy: PermissionPolicy): PermissionDecision => {
  const decisions = [request.kind, ...(request.otherKinds ?? [])].flatMap((kind) =>
    [request.command, ...(request.otherCommands ?? [])].map((command) =>
      decideOne({ ...request, kind, command }, policy),
    ),
  );
  const isDenial = ({ outcome }: PermissionDecision) => outcome === 'deny';
  return decisions.find((each) => isDenial(each) && each.rule !== null) ?? decisions.find(isDenial) ?? decisions[0]!;
};

const decideOne = (request: PermissionRequest, policy: PermissionPolicy): PermissionDecision => {
  const shell = request.command === null ? null : parseShell(request.command);
  const facts = { ...request, shell, started: shell && withNested(shell) };
  const denied = denialOf(facts, policy);
  if (denied !== null) return denied;
  if (policy.allowAll) return { outcome: 'allow', rule: null, reason: '--allow-all', suggestion: null };
  return allowanceOf(facts, policy);
};

/** The part of an answer to `session/request_permission` that says what was chosen. */
export type PermissionOutcome =
  { readonly outcome: 'selected'; readonly optionId: string } | { readonly outcome: 'cancelled' };

/**
 * Chooses the option for a decision by its kind, never by its name, and never one that is remembered: some agents keep
 * `allow_always` for later sessions. Never one whose id also stands for another kind. Without a suitable option the request is cancelled.
 */
export const optionFor = (
  { outcome }: Pick<PermissionDecision, 'outcome'>,
  options: readonly { readonly optionId: string; readonly kind: string }[],
): PermissionOutcome => {
  const kind = outcome === 'allow' ? 'allow_once' : 'reject_once';
  const isClear = ({ optionId }: { readonly optionId: string }) =>
    options.every((each) => each.optionId !== optionId || each.kind === kind);
  const option = options.find((each) => each.kind === kind && isClear(each));
  return option === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option.optionId };
};

interface Facts extends PermissionRequest {
  readonly shell: ShellText | null;
  /** With the commands that others start. */
  readonly started: ShellText | null;
}

const denialOf = (facts: Facts, policy: PermissionPolicy): PermissionDecision | null => {
  const rule = policy.deny.find((each) => isDenied(facts, each, policy));
  if (rule !== undefined)
    return { outcome: 'deny', rule: rule.text, reason: `the rule ${rule.text} denies it`, suggestion: null };
  for (const each of policy.deny) {
    const why = whyUnchecked(facts, each);
    if (why === null) continue;
    return {
      outcome: 'deny',
      rule: each.text,
      reason: `the rule ${each.text} cannot be checked: ${why}`,
      suggestion: null,
    };
  }
  return null;
};

/** Returns why it is not known whether a deny rule applies; null if it is known. */
const whyUnchecked = (facts: Facts, rule: PermissionRule): string | null => {
  switch (rule.type) {
    case 'command':
      if (!isCommand(facts)) return null;
      return facts.started === null ? 'the request does not contain the command' : facts.started.hidden;
    case 'paths':
      if (facts.unclearPaths && (isAbout(rule, facts.kind) || facts.kind === 'other')) return facts.unclearPaths;
      return isAbout(rule, facts.kind) && facts.paths.length === 0 && facts.command === null
        ? 'the request does not name the files'
        : null;
    default:
      return null;
  }
};

const isDenied = (facts: Facts, rule: PermissionRule, roots: Roots): boolean => {
  switch (rule.type) {
    case 'tool':
      return matches(rule.pattern.toLowerCase(), facts.tool.toLowerCase());
    case 'fetch':
      return mayFetch(facts) && (rule.pattern === null || hostMatches(rule.pattern, facts.url, true));
    case 'command':
      return isCommand(facts) && (rule.pattern === null || (facts.started?.commands ?? []).some(mayBe(rule.pattern)));
    case 'paths': {
      const { pattern } = rule;
      const paths = [...facts.paths, ...(facts.namedPaths ?? [])];
      // A tool of an unknown kind may do anything with its files.
      const mayApply = isAbout(rule, facts.kind) || (facts.kind === 'other' && paths.length > 0);
      if (pattern === null) return mayApply;
      const options = { ...roots, ignoreCase: true };
      return (
        mayApply &&
        (paths.some((path) => pathMatches(pattern, path, options)) ||
          (facts.folders ?? []).some((folder) => mayMatchIn(pattern, folder, options)))
      );
    }
  }
};

/** A tool of an unknown kind may fetch the address that it names. */
const mayFetch = ({ kind, url }: Facts): boolean => kind === 'fetch' || (kind === 'other' && (url ?? null) !== null);

const isCommand = ({ kind, command }: Facts): boolean => kind === 'execute' || command !== null;

const isAbout = (rule: PermissionRule & { type: 'paths' }, kind: ToolKind): boolean =>
  (pathRules[rule.name] as readonly ToolKind[]).includes(kind);

const allowanceOf = (facts: Facts, policy: PermissionPolicy): PermissionDecision => {
  const tool = policy.allow.find((rule) => rule.type === 'tool' && matches(rule.pattern, facts.tool));
  if (tool !== undefined) return allowedBy(tool);
  // A request with a command is judged as a command, regardless of the kind that it claims to be.
  if (isCommand(facts)) return commandDecision(facts, policy);
  switch (facts.kind) {
    case 'think':
      if (facts.paths.length === 0 && !facts.unclearPaths) return allowed('thinking has no effect');
      return denied(`no rule allows the tool ${facts.tool}`, `Tool(${facts.tool})`);
    case 'read':
    case 'search':
    case 'edit':
    case 'delete':
    case 'move':
      return pathsDecision(facts, policy);
    case 'fetch':
      return fetchDecision(facts, policy);
    default:
      return denied(`no rule allows the tool ${facts.tool}`, `Tool(${facts.tool})`);
  }
};

const allowed = (reason: string): PermissionDecision => ({ outcome: 'allow', rule: null, reason, suggestion: null });

const allowedBy = (rule: PermissionRule): PermissionDecision => ({
  outcome: 'allow',
  rule: rule.text,
  reason: `the rule ${rule.text} allows it`,
  suggestion: null,
});

const denied = (reason: string, suggestion: string | null): PermissionDecision => ({
  outcome: 'deny',
  rule: null,
  reason,
  suggestion,
});

const pathsDecision = (
  { kind, paths, unclearPaths, secretFolders = [] }: Facts,
  policy: PermissionPolicy,
): PermissionDecision => {
  const name = kind === 'read' || kind === 'search' ? 'Read' : kind === 'delete' ? 'Delete' : 'Edit';
  const rules = policy.allow.filter((rule) => rule.type === 'paths' && allowsKind(rule, kind));
  const whole = rules.find((rule) => rule.pattern === null);
  if (whole !== undefined) return allowedBy(whole);
  if (paths.length === 0) return denied(`it does not say which files it would ${kind}`, name);
  if (unclearPaths) return denied(unclearPaths, name);
  const deciding = paths.map((path) => rules.find((rule) => ruleAllows(rule.pattern!, path, kind, policy)));
  const isReadable = (path: string) =>
    (kind === 'read' || kind === 'search') &&
    isBelow(path, policy.root) &&
    !isSecret(path) &&
    !secretFolders.includes(path);
  const missing = paths.find((path, index) => deciding[index] === undefined && !isReadable(path));
  if (missing !== undefined)
    return denied(`no rule allows to ${kind} ${missing}`, `${name}(${patternFor(missing, policy)})`);
  const rule = deciding.find((each) => each !== undefined);
  return rule === undefined ? allowed('it reads files of the project') : allowedBy(rule);
};

/** A rule that allows to edit a file also allows to read it. */
const allowsKind = (
  rule: PermissionRule & { type: 'paths' },
  kind: ToolKind,
): rule is PermissionRule & { type: 'paths' } =>
  isAbout(rule, kind) || (rule.name === 'Edit' && (kind === 'read' || kind === 'search'));

/** A search in a folder reads what is in it. */
const ruleAllows = (pattern: string, path: string, kind: ToolKind, roots: Roots): boolean =>
  pathMatches(pattern, path, { ...roots, ignoreCase: false }) ||
  (kind === 'search' && pathMatches(pattern, `${path}/${hole}`, { ...roots, ignoreCase: false }));

/** Files that usually contain passwords. An agent may read all other files of the project without a rule. */
export const isSecret = (path: string): boolean => /\/\.env(?:\.(?!example$)[^/]*)?$/i.test(path);

const patternFor = (path: string, { root }: Roots): string => {
  const escaped = (text: string) => text.replaceAll(/[\\*]/g, '?');
  if (path === root) return '**';
  return isBelow(path, root) ? `./${escaped(path.slice(root.length + 1))}` : `/${escaped(path)}`;
};

const fetchDecision = ({ url }: Facts, { allow }: PermissionPolicy): PermissionDecision => {
  const rule = allow.find(
    (each) => each.type === 'fetch' && (each.pattern === null || hostMatches(each.pattern, url, false)),
  );
  if (rule !== undefined) return allowedBy(rule);
  const host = hostOf(url);
  return host === null
    ? denied('no rule allows to fetch from every host', 'WebFetch')
    : denied(`no rule allows to fetch from ${host}`, `WebFetch(domain:${host})`);
};

const hostMatches = (pattern: string, url: string | null | undefined, ifUnknown: boolean): boolean => {
  const host = hostOf(url);
  if (host === null) return ifUnknown;
  return host === pattern || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));
};

const hostOf = (url: string | null | undefined): string | null =>
  url && URL.canParse(url) ? new URL(url).hostname.toLowerCase().replace(/\.$/, '') || null : null;

const commandDecision = ({ shell }: Facts, policy: PermissionPolicy): PermissionDecision => {
  const rules = policy.allow.filter((rule) => rule.type === 'command');
  const whole = rules.find((rule) => rule.pattern === null);
  if (whole !== undefined) return allowedBy(whole);
  if (shell === null) return denied('it does not say which command it would run', 'Bash');
  if (shell.unclear !== null) return denied(`no rule can allow this command: ${shell.unclear}`, 'Bash');
  const commands = shell.commands.filter((command) => !isCdToRoot(command, policy));
  const deciding = commands.map((command) => rules.find((rule) => isSurely(rule.pattern!)(command)));
  const missing = commands.find((_, index) => deciding[index] === undefined);
  if (missing !== undefined) return missingCommand(missing);
  const rule = deciding.find((each) => each !== undefined);
  return rule === undefined ? denied('it runs no command', 'Bash') : allowedBy(rule);
};

const missingCommand = (command: RunCommand): PermissionDecision => {
  const text = textOf(command).replaceAll(hole, '*');
  if (command.writes) return denied(`no rule can allow a command that writes to a file by itself: ${text}`, 'Bash');
  if (command.assigns)
    return denied(`no rule can allow a command that sets variables${text === '' ? '' : `: ${text}`}`, 'Bash');
  return denied(`no rule allows the command: ${text}`, `Bash(${text})`);
};

const isCdToRoot = ({ words, assigns, writes }: RunCommand, { root }: Roots): boolean =>
  words.length === 2 && words[0] === 'cd' && (words[1] === root || words[1] === '.') && !assigns && !writes;

/** For an allow rule: the command matches, regardless of what its expansions result in. */
const isSurely =
  (pattern: string) =>
  (command: RunCommand): boolean =>
    !command.assigns && !command.writes && formsOf(pattern).some((each) => matches(each, textOf(command)));

/** For a deny rule: the command may match. */
const mayBe =
  (pattern: string) =>
  (command: RunCommand): boolean =>
    formsOf(pattern).some((each) => mayMatch(each, textOf(command)));

/** `npm test:*` and `npm test *` are `npm test`, alone or with arguments. */
const formsOf = (pattern: string): string[] => {
  const [, base] = /^(.*?)(?::\*| \*)$/.exec(pattern) ?? [];
  return base === undefined ? [pattern] : [base, `${base} *`];
};
