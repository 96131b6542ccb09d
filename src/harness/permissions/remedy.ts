import { decidePermission } from './decide.ts';
import { permissionRequest } from '../acp/permission-request.ts';
import type { DeniedCall, Remedy } from '../decoded-event.ts';
import { ownRulesOf, type Translator } from './own-rules.ts';
import type { Roots } from './path-match.ts';
import { parseRule, type PermissionRules } from './rule.ts';
import { permissionKind } from './tool-kind.ts';

/** In characters. A longer rule is not worth typing. */
const maxRule = 200;

/**
 * Returns what can be done about a call that an agent denied by itself; null if no rule of Spool that the agent can be
 * told would allow it.
 */
export const remedyFor = (
  harness: Translator,
  { tool, input }: DeniedCall,
  { rules, roots }: { readonly rules: PermissionRules; readonly roots: Roots },
): Remedy | null => {
  if (harness.permissions?.ownRules === undefined) return null;
  const call = { kind: permissionKind(tool), toolName: tool, rawInput: input };
  const request = permissionRequest(call, null, roots.root);
  const decision = decidePermission(request, { ...roots, ...rules, allowAll: false });
  if (decision.outcome === 'allow') return null;
  if (decision.rule !== null) return { reason: decision.reason };
  if (decision.suggestion === null) return null;
  const add = candidates(decision.suggestion).find(
    ({ rule }) => ownRulesOf(harness, { allow: [rule], deny: [] }, roots).left.length === 0,
  );
  return add === undefined ? null : { add: add.text };
};

/** Returns the rule to add for a suggestion, or one that allows more if it cannot be typed as it is; null if none can. */
export const typedRule = (suggestion: string): string | null => candidates(suggestion)[0]?.text ?? null;

const candidates = (suggestion: string) =>
  withBroader(suggestion).flatMap((text) => {
    const rule = parseRule(text);
    return typeof rule === 'string' ? [] : [{ text, rule }];
  });

/** The same rule, then ones that allow more: not every agent has a form for a whole command, and some are long. */
const withBroader = (suggestion: string): string[] => {
  const [, name, pattern] = /^(\w+)\((.*)\)$/s.exec(suggestion) ?? [];
  if (name !== 'Bash' || pattern === undefined) return [suggestion];
  const words = pattern.split(' ');
  const starts = [2, 1].filter((count) => words.length >= count).map((count) => words.slice(0, count).join(' '));
  return [suggestion, ...starts.map((start) => `Bash(${start}:*)`), 'Bash'].filter((text) => text.length <= maxRule);
};
