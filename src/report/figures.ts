import { failed, type GitSummary, type IterationRecord } from '../ralph/record.ts';
import { type Usage } from '../ralph/agent-events.ts';
import { grouped } from '../ralph/usage.ts';
import { pluralise } from '../text/format.ts';

/** `2,000 tokens in (200 cached), 100 out (20 reasoning), $0.0022`; empty if the agent reported nothing. */
export const usageText = (usage: Usage | null | undefined): string => {
  if (!usage) return '';
  const { inputTokens, outputTokens, cacheReadTokens, reasoningTokens, costUsd } = usage;
  return [
    ...(inputTokens === null ? [] : [`${grouped(inputTokens)} tokens in${part(cacheReadTokens, 'cached')}`]),
    ...(outputTokens === null ? [] : [`${grouped(outputTokens)} out${part(reasoningTokens, 'reasoning')}`]),
    ...(costUsd === null ? [] : [costOf(usage)]),
  ].join(', ');
};

const part = (number: number | null, name: string) => (number ? ` (${grouped(number)} ${name})` : '');

export const tokensOf = ({ inputTokens, outputTokens }: Usage): string =>
  inputTokens === null && outputTokens === null ? '-' : grouped((inputTokens ?? 0) + (outputTokens ?? 0));

export const costOf = ({ costUsd }: Usage): string =>
  costUsd === null ? '-' : `$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`;

export const outcome = (record: IterationRecord): string => {
  if (record.completionFound) return 'promised';
  if (record.end === 'interrupted') return 'interrupted';
  return failed(record) ? 'failed' : 'continued';
};

/** `2 files changed`, or `no changes`. */
export const filesChangedText = ({ filesChanged }: Pick<GitSummary, 'filesChanged'>): string =>
  filesChanged === 0 ? 'no changes' : `${pluralise(filesChanged, 'file')} changed`;
