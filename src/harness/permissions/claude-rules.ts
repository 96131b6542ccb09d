import { type TranslateRules, translateEach } from './own-rules.ts';
import type { PermissionRule } from './rule.ts';

/**
 * Claude Code has the same syntax. Its rules are passed as settings: in `--allowedTools`, commas and spaces separate
 * rules. It has no tools that only delete or move.
 */
export const claudeRules: TranslateRules = ({ allow, deny }) => {
  const [allowed, denied] = [translateEach(allow, formsOf), translateEach(deny, formsOf)];
  const permissions = {
    ...(allowed.forms.length > 0 && { allow: allowed.forms.flat() }),
    ...(denied.forms.length > 0 && { deny: denied.forms.flat() }),
  };
  return {
    ...(Object.keys(permissions).length > 0 && { args: ['--settings', JSON.stringify({ permissions })] }),
    left: [...allowed.left, ...denied.left],
  };
};

/** A rule with a path for `Edit` is about all tools that edit files, one without a path is about this tool only. */
const formsOf = (rule: PermissionRule): string[] | null => {
  switch (rule.type) {
    case 'paths': {
      if (rule.name !== 'Read' && rule.name !== 'Edit') return null;
      if (rule.pattern === null)
        return rule.name === 'Read' ? ['Read', 'Glob', 'Grep'] : ['Edit', 'Write', 'NotebookEdit'];
      return [`${rule.name}(${rule.pattern.replaceAll(/[[\]]/g, String.raw`\$&`)})`];
    }
    case 'command':
      return [rule.pattern === null ? 'Bash' : `Bash(${rule.pattern})`];
    case 'fetch':
      if (rule.pattern?.startsWith('*')) return null;
      return [rule.pattern === null ? 'WebFetch' : `WebFetch(domain:${rule.pattern})`];
    case 'tool':
      return /^[\w-]+(?:__\*)?$/.test(rule.pattern) ? [rule.pattern] : null;
  }
};
