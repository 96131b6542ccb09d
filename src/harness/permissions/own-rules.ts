import { asObject, parseObject } from '../json.ts';
import type { Roots } from './path-match.ts';
import type { PermissionRule, PermissionRules } from './rule.ts';

/** Permission rules in the form in which an agent takes them itself. */
export interface OwnRules {
  readonly args?: readonly string[];
  /** Its configuration in JSON, and the variable by which it takes it. What the user has there is kept. */
  readonly config?: { readonly variable: string; readonly content: Readonly<Record<string, unknown>> };
  /** Rules that it has no form for. */
  readonly left: readonly string[];
}

/** Turns rules into an agent's own. They never allow more than the rules do. */
export type TranslateRules = (rules: PermissionRules, roots: Roots) => OwnRules;

/** The part of a harness that is used. Its type cannot be imported: it contains this one. */
export interface Translator {
  readonly permissions?: { readonly ownRules?: TranslateRules };
}

/** Returns what starts an agent with these rules, and those that it cannot be told. */
export const ownRulesOf = ({ permissions }: Translator, rules: PermissionRules, roots: Roots): OwnRules => {
  const all = [...rules.allow, ...rules.deny];
  if (all.length === 0) return { left: [] };
  return permissions?.ownRules?.(rules, roots) ?? { left: all.map(({ text }) => text) };
};

/** Returns the variables to add to the environment of an agent. */
export const environmentOf = ({ config }: OwnRules, env: NodeJS.ProcessEnv): Record<string, string> => {
  if (config === undefined) return {};
  const given = env[config.variable];
  const before = parseObject(given?.trim() || '{}');
  // The agent reports what is wrong with it, and does not start.
  return before === null ? {} : { [config.variable]: JSON.stringify(merge(before, config.content)) };
};

/** Keys of `added` come last, including those that are in both: for some agents the last rule that matches decides. */
const merge = (before: Readonly<Record<string, unknown>>, added: Readonly<Record<string, unknown>>): object => {
  const kept = Object.entries(before).filter(([key]) => !(key in added));
  const merged = Object.entries(added).map(([key, value]) => {
    const [inner, more] = [asObject(before[key]), asObject(value)];
    if (more === null) return [key, value];
    // `"bash": "ask"` is short for `"bash": { "*": "ask" }`.
    const short = typeof before[key] === 'string' ? { '*': before[key] } : {};
    return [key, merge(inner ?? short, more)];
  });
  return Object.fromEntries([...kept, ...merged]);
};

/** Translates each rule by itself. `form` returns null for a rule that the agent has no form for. */
export const translateEach = <Form>(
  rules: readonly PermissionRule[],
  form: (rule: PermissionRule) => Form | null,
): { readonly forms: readonly Form[]; readonly left: readonly string[] } => {
  const translated = rules.map((rule) => ({ rule, form: form(rule) }));
  return {
    forms: translated.flatMap(({ form: each }) => (each === null ? [] : [each])),
    left: translated.filter(({ form: each }) => each === null).map(({ rule }) => rule.text),
  };
};
