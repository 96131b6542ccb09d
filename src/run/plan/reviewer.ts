import { userError } from '../../errors.ts';
import type { RunPlan } from '../../ralph/plan.ts';
import type { RunServices } from '../services.ts';
import type { RunSpec } from '../spec.ts';

interface Reviewing extends Pick<RunPlan, 'gate'> {
  readonly hasGit: boolean;
}

/** Throws if the work cannot be reviewed as it is planned. */
export const checkReviewer = (
  { gate: { review }, hasGit }: Reviewing,
  { project, cwd }: Pick<RunSpec, 'project' | 'cwd'>,
  { findHarness, env, missingAgent }: Pick<RunServices, 'findHarness' | 'env' | 'missingAgent'>,
): void => {
  if (review === undefined) return;
  const harness = findHarness(review.harness);
  if (!hasGit) throw userError('review-without-git', project.root);
  if (missingAgent(harness, { env, cwds: [cwd, project.root] }) !== null)
    throw userError('no-reviewer', harness.launch.binary, harness.install);
};
