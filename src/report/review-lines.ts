import { agentKey } from '../ralph/plan.ts';
import type { ReviewReport } from '../ralph/record.ts';
import { duration, pluralise } from '../text/format.ts';
import { costText, shortTokens } from './figures.ts';
import { oneLine } from './shorten.ts';
import type { Symbols } from './symbols.ts';
import type { Style } from './terminal.ts';

/** `Review by codex:some-model: FAIL, 2 findings · 41s · $0.12` */
export const reviewText = (review: ReviewReport, { separator }: Pick<Symbols, 'separator'>): string => {
  const { usage, attempts, durationMs } = review;
  const facts = [
    duration(durationMs),
    costText(usage) || shortTokens(usage),
    attempts > 1 ? pluralise(attempts, 'attempt') : '',
  ];
  return `Review by ${agentKey(review)}: ${[outcomeText(review), ...facts].filter(Boolean).join(separator)}`;
};

const outcomeText = ({ verdict, findings, reason, interrupted }: ReviewReport): string => {
  if (interrupted) return 'interrupted';
  if (verdict === null) return `no verdict: ${oneLine(reason ?? '', 300)}`;
  const count = findings.length === 0 ? '' : `, ${pluralise(findings.length, 'finding')}`;
  return `${verdict.toUpperCase()}${count}`;
};

/** Each finding in one line. */
export const findingLines = ({ findings }: Pick<ReviewReport, 'findings'>): string[] =>
  findings.map((finding) => `  - ${oneLine(finding, 500)}`);

export const reviewStyle = ({ verdict, interrupted }: ReviewReport): Style => {
  if (interrupted) return 'yellow';
  return verdict === 'pass' ? 'green' : 'red';
};
