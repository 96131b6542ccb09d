import { type TranslateRules, translateEach } from './own-rules.ts';
import type { Roots } from './path-match.ts';
import type { PermissionRule } from './rule.ts';

type Action = 'allow' | 'deny';

/** Entries of `permission` in its configuration: `["bash", "git push *"]`. */
type Entries = readonly (readonly [key: string, pattern: string])[];

/**
 * OpenCode takes them as `permission` in its configuration, in which the last rule that matches decides. A `*` there may
 * also stand for slashes, so some rules can only be denied, or only be allowed.
 */
export const opencodeRules: TranslateRules = ({ allow, deny }, roots) => {
  const of = (action: Action) => (rule: PermissionRule) => entriesOf(rule, action, roots);
  const [allowed, denied] = [translateEach(allow, of('allow')), translateEach(deny, of('deny'))];
  const permission: Record<string, Record<string, Action>> = {};
  for (const [action, entries] of [
    ['allow', allowed.forms.flat()],
    ['deny', denied.forms.flat()],
  ] as const)
    for (const [key, pattern] of entries) {
      const { [pattern]: _, ...others } = permission[key] ?? {};
      permission[key] = { ...others, [pattern]: action };
    }
  return {
    ...(Object.keys(permission).length > 0 && {
      config: { variable: 'OPENCODE_CONFIG_CONTENT', content: { permission } },
    }),
    left: [...allowed.left, ...denied.left],
  };
};

const entriesOf = (rule: PermissionRule, action: Action, roots: Roots): Entries | null => {
  switch (rule.type) {
    case 'command':
      return [['bash', rule.pattern === null ? '*' : rule.pattern.replace(/:\*$/, ' *')]];
    case 'paths':
      return pathEntries(rule, action, roots);
    case 'fetch':
      return hostEntries(rule.pattern, action);
    case 'tool':
      return [[rule.pattern.replace(/^mcp__(.+?)__/, '$1_'), '*']];
  }
};

const keys = { Read: 'read', Edit: 'edit' } as const;

const pathEntries = (
  { name, pattern }: PermissionRule & { type: 'paths' },
  action: Action,
  { root, home }: Roots,
): Entries | null => {
  if (name !== 'Read' && name !== 'Edit') return null;
  const key = keys[name];
  if (pattern === null) return [[key, '*'], ...(action === 'allow' ? ([['external_directory', '*']] as const) : [])];
  const outside = absoluteOf(pattern, home);
  // Access to a folder outside is one permission: whether files are read or edited there cannot be told apart.
  if (outside !== null)
    return action === 'allow' && (name === 'Read' || hasStar(outside))
      ? null
      : below(outside).map((each) => ['external_directory', each]);
  const plain = pattern.replace(/^\.\//, '').replace(/\/$/, '');
  const isAnchored = pattern.startsWith('./') || plain.includes('/');
  if (action === 'allow' && (isAnchored ? hasStar(plain) : /.[*?]./.test(plain))) return null;
  const starts = isAnchored ? ['', `${root}/`] : ['', '**/'];
  return starts.flatMap((start) => below(`${start}${plain}`)).map((each) => [key, each]);
};

const absoluteOf = (pattern: string, home: string | null): string | null => {
  if (pattern.startsWith('//')) return pattern.slice(1);
  return pattern === '~' || pattern.startsWith('~/') ? `${home ?? '~'}${pattern.slice(1)}` : null;
};

/** A star that must not stand for a slash. */
const hasStar = (pattern: string): boolean => /[*?]/.test(pattern.replace(/(?:^|\/)\*\*$/, ''));

/** A folder stands for what is in it. */
const below = (pattern: string): string[] => (pattern.endsWith('*') ? [pattern] : [pattern, `${pattern}/**`]);

/** Addresses. With `*` for a name, an address of another host could match as well. */
const hostEntries = (host: string | null, action: Action): Entries | null => {
  if (host === null) return [['webfetch', '*']];
  if (action === 'allow')
    return host.startsWith('*')
      ? null
      : ['https', 'http'].flatMap((scheme) => [
          ['webfetch', `${scheme}://${host}`] as const,
          ['webfetch', `${scheme}://${host}/**`] as const,
        ]);
  return ['', '*@'].flatMap((user) =>
    ['', '/**', ':*', '.', './**'].map((end) => ['webfetch', `*://${user}${host}${end}`] as const),
  );
};
