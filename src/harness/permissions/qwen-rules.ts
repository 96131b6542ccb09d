import { type TranslateRules, translateEach } from './own-rules.ts';
import type { PermissionRule } from './rule.ts';

/**
 * Qwen Code has the syntax of Claude Code, and a flag that separates rules by commas. It is only told what is denied:
 * without --yolo it does not offer the model any tool that writes, even if it is allowed.
 */
export const qwenRules: TranslateRules = ({ allow, deny }) => {
  const { forms, left } = translateEach(deny, formOf);
  return {
    args: forms.map((each) => `--exclude-tools=${each}`),
    left: [...allow.map(({ text }) => text), ...left],
  };
};

const formOf = (rule: PermissionRule): string | null => {
  if (rule.text.includes(',')) return null;
  switch (rule.type) {
    case 'paths':
      if (rule.name !== 'Read' && rule.name !== 'Edit') return null;
      if (rule.pattern !== null && /[[\]]/.test(rule.pattern)) return null;
      return rule.text;
    case 'command':
      return rule.pattern === null ? 'Bash' : `Bash(${rule.pattern.replace(/:\*$/, ' *')})`;
    case 'fetch':
      return rule.pattern?.startsWith('*') ? null : rule.text;
    case 'tool':
      return /^[\w-]+$/.test(rule.pattern) ? rule.pattern : null;
  }
};
