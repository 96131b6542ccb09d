/**
 * Calls `onProblem` with the first permission rule that is not valid, and what is wrong with it. The rules are loaded
 * only if some are given: most commands need none.
 */
export const checkRules = async (
  rules: readonly string[],
  onProblem: (rule: string, problem: string) => never,
): Promise<void> => {
  if (rules.length === 0) return;
  const { parseRule } = await import('../harness/permissions/rule.ts');
  for (const rule of rules) {
    const parsed = parseRule(rule);
    if (typeof parsed === 'string') onProblem(rule, parsed);
  }
};
