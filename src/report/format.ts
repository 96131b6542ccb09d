import { stripVTControlCharacters } from 'node:util';
import type { GitSummary, IterationRecord, Usage } from '../ralph/events.ts';
import { failed } from '../ralph/events.ts';

/** `850 ms`, `4.2 s`, `3 min 05 s`, `2 h 10 min`. */
export const duration = (ms: number): string => {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
};

/** Local time, to the minute. */
export const moment = (iso: string): string => {
  const at = new Date(iso);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
};

export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`;

export const lineChanges = (git: GitSummary): string => `+${git.insertions} -${git.deletions}`;

/** `2,000 tokens in (200 cached), 100 out (20 reasoning), $0.0022`; empty when the agent said nothing. */
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

const grouped = (number: number) => number.toLocaleString('en-US');

export const outcome = (record: IterationRecord): string => {
  if (record.completionFound) return 'promised';
  if (record.end === 'interrupted') return 'interrupted';
  return failed(record) ? 'failed' : 'went on';
};

/** What an agent prints must not move the cursor or change the title of the user's terminal. */
export const withoutControls = (text: string): string =>
  controls.some((char) => text.includes(char))
    ? stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '')
    : text;

/** All but tab and newline. Looking for each of them takes a tenth of the time of a pattern for all. */
const controls = [
  ...Array.from({ length: 32 }, (_, code) => code).filter((code) => code !== 9 && code !== 10),
  127,
  155,
].map((code) => String.fromCharCode(code));

export const oneLine = (text: string, longest = 500): string =>
  withoutControls(text).replaceAll(/\s+/g, ' ').slice(0, longest);

/** Columns as wide as their widest cell; numbers to the right. */
export const table = (rows: readonly (readonly string[])[], numeric: readonly number[] = []): string[] => {
  const widths = rows.reduce<number[]>(
    (wide, row) => row.map((cell, column) => Math.max(wide[column] ?? 0, cell.length)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, column) => (numeric.includes(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd(),
  );
};

const two = (number: number) => String(number).padStart(2, '0');
