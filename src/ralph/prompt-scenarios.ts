import type { Scenario } from './proof.ts';
import type { GateProof } from './record.ts';

export interface ScenariosToProve {
  readonly scenarios: readonly Pick<Scenario, 'id' | 'title' | 'verify'>[];
  /** Patterns of report files. */
  readonly reports: readonly string[];
  readonly redFirst: boolean;
}

const maxListed = 100;
const maxTitle = 120;

/** Says which scenarios must be proven, and how a test is linked to one. */
export const describeScenarios = ({ scenarios, reports, redFirst }: ScenariosToProve): string => {
  const example = scenarios[0]?.id ?? 'capability/requirement/scenario';
  const places = ['the folder in `$SPOOL_REPORTS`', ...reports.map((pattern) => `\`${pattern}\``)].join(' or ');
  const lines = scenarios
    .slice(0, maxListed)
    .map(({ id, title, verify }) => `- \`${id}\`: ${short(title)}${verify.length > 0 ? ' (has a command)' : ''}`);
  const more = scenarios.length > maxListed ? [`- and ${scenarios.length - maxListed} more in the specs`] : [];
  return [
    '## Scenarios To Prove',
    'The promise is accepted only if the checks that run after it prove every scenario in this list: each test that names the scenario passes, and so does its **Verify** command if it has one. A test that is skipped, marked as todo or not run proves nothing. Do not reword scenarios, and do not weaken, skip or delete tests that exist already.',
    `To link a test to a scenario, put its id into the title of the test, or into a comment right above the test: \`@scenario ${example}\`. The results are read from reports (JUnit XML, TAP, Vitest or Jest JSON, Go test JSON) that the checks write to ${places}, or print.`,
    ...(redFirst
      ? ['What proves a scenario must also fail without your change: it is tried on the code as it was before.']
      : []),
    [...lines, ...more].join('\n'),
  ].join('\n\n');
};

const maxUnproven = 20;

/** Lists what is not proven yet, for the next iteration. */
export const describeOpenProof = ({ count, unproven, unknown = [] }: GateProof): string => {
  const listed = unproven
    .slice(0, maxUnproven)
    .map(({ id, title, reason }) => `- \`${id}\` (${short(title)}): ${reason}`);
  const more = count.total - count.proven - listed.length;
  return [
    `Not proven yet (${count.proven} of ${count.total} scenarios are):`,
    '',
    ...listed,
    ...(more > 0 ? [`- and ${more} more`] : []),
    ...(unknown.length === 0
      ? []
      : ['', `No scenario has these ids, which tests name: ${unknown.slice(0, maxUnproven).join(', ')}.`]),
  ].join('\n');
};

const short = (text: string): string => (text.length > maxTitle ? `${text.slice(0, maxTitle)}…` : text);
