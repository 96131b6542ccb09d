import { ownRulesOf, type Translator } from './own-rules.ts';
import type { Roots } from './path-match.ts';
import type { PermissionRules } from './rule.ts';

/**
 * Says which rules an agent has no form for; null if there are none. An agent that asks Spool gets the answers of allow
 * rules that it was not told.
 */
export const untoldRules = (
  harness: Translator & { readonly title: string },
  rules: PermissionRules,
  { asksSpool, ...roots }: Roots & { readonly asksSpool: boolean },
): string | null => {
  const { left } = ownRulesOf(harness, rules, roots);
  const isDenied = (text: string) => rules.deny.some((rule) => rule.text === text);
  const untold = asksSpool ? left.filter(isDenied) : left;
  if (untold.length === 0) return null;
  const where = asksSpool ? 'they only apply where it asks' : 'they do not apply to it';
  return `${harness.title} has no equivalent for these permission rules, so ${where}: ${untold.join(', ')}.`;
};
