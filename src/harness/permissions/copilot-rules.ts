import { type TranslateRules, translateEach } from './own-rules.ts';
import type { Roots } from './path-match.ts';
import type { PermissionRule } from './rule.ts';

/**
 * Copilot takes `kind(argument)`. It knows commands by their name, those of git by their subcommand, files without
 * patterns, and has no rules for reading.
 */
export const copilotRules: TranslateRules = ({ allow, deny }, roots) => {
  const form = (rule: PermissionRule) => formsOf(rule, roots);
  const [allowed, denied] = [translateEach(allow, form), translateEach(deny, form)];
  return {
    args: [
      ...allowed.forms.flat().map((each) => `--allow-tool=${each}`),
      ...denied.forms.flat().map((each) => `--deny-tool=${each}`),
    ],
    left: [...allowed.left, ...denied.left],
  };
};

const formsOf = (rule: PermissionRule, { root, home }: Roots): string[] | null => {
  switch (rule.type) {
    case 'command':
      return rule.pattern === null ? ['shell'] : shellForm(rule.pattern);
    case 'paths':
      if (rule.name !== 'Edit') return null;
      return rule.pattern === null ? ['write'] : fileForm(rule.pattern, root, home);
    case 'fetch':
      if (rule.pattern === null) return ['url'];
      return ['https', 'http'].map((scheme) => `url(${scheme}://${rule.pattern})`);
    case 'tool':
      return serverForm(rule.pattern);
  }
};

/** `git push:*` → `shell(git push)`, `npm:*` → `shell(npm:*)`. */
const shellForm = (pattern: string): string[] | null => {
  const [, base] = /^([\w./-]+(?: [\w-]+)?)(?::\*| \*)$/.exec(pattern) ?? [];
  if (base === undefined) return null;
  if (!base.includes(' ')) return [`shell(${base}:*)`];
  return base.startsWith('git ') ? [`shell(${base})`] : null;
};

/** A relative path is matched by its end, at any depth. */
const fileForm = (pattern: string, root: string, home: string | null): string[] | null => {
  if (/[*?,()]|\/$/.test(pattern)) return null;
  if (pattern.startsWith('//')) return [`write(${pattern.slice(1)})`];
  if (pattern.startsWith('~/')) return home === null ? null : [`write(${home}${pattern.slice(1)})`];
  const plain = pattern.replace(/^\.\//, '');
  return [plain === pattern && !plain.includes('/') ? `write(${plain})` : `write(${root}/${plain})`];
};

const serverForm = (name: string): string[] | null => {
  const [start, server = '', ...rest] = name.split('__');
  const tool = rest.join('__');
  if (start !== 'mcp' || !/^[\w-]+$/.test(server) || !/^(?:[\w-]+|\*)$/.test(tool)) return null;
  return [tool === '*' ? server : `${server}(${tool})`];
};
